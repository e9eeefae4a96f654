// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/training/sample.hpp"

namespace surrogate::tool {

namespace {

/// Rejects components of vectors, which would have to change sign and position.
void check_scalars(const std::vector<Channel>& channels, const std::string& symmetries) {
    for (const Channel& channel : channels)
        if (component_of(channel))
            fail("symmetries = \"" + symmetries + "\" is for numbers; '" +
                 one_line(channel.name, 60) + "' is a component of a vector");
}

/// Checks that both axes have the same number of cells and coordinates that are symmetric about
/// their middle.
void check_square(const dataset::ReadFile& file) {
    const auto& form = file.form();
    const std::string who = "symmetries = \"square\": data set '" + file.path() + "' ";
    if (form.points != dataset::PointForm::lattice || form.extents.size() != 2 ||
        form.extents[0] != form.extents[1])
        fail(who + "is not a structured grid of n x n points");
    const int64_t n = form.extents[0];
    const auto along = [&](int32_t axis) {
        std::vector<double> points = read_points(file, {}, {0, n * n});
        std::vector<double> line;
        const bool is_first =
            form.point_axes[0] == form.coordinates[static_cast<size_t>(axis)].name;
        for (int64_t i = 0; i < n; ++i)
            line.push_back(points[static_cast<size_t>(2 * i * (is_first ? n : 1) + axis)]);
        return line;
    };
    const auto x = along(0), y = along(1);
    const double tolerance = 1e-5 * std::abs(x.back() - x.front());
    for (size_t i = 0; i < x.size(); ++i) {
        const bool is_centred =
            std::abs(x[i] + x[x.size() - 1 - i] - x.front() - x.back()) <= tolerance &&
            std::abs(y[i] + y[x.size() - 1 - i] - y.front() - y.back()) <= tolerance;
        if (!is_centred || std::abs((x[i] - x.front()) - (y[i] - y.front())) > tolerance)
            fail(who + "has axes that do not form a square");
    }
}

}  // namespace

void check_symmetries(Symmetry symmetries, const TrainData& data,
                      const std::vector<Channel>& channels) {
    if (symmetries == Symmetry::none) return;
    const bool is_square = symmetries == Symmetry::square;
    if (is_square) check_scalars(channels, "square");
    for (size_t i = 0; i < data.n_file(); ++i) {
        if (is_square)
            check_square(data.file(i));
        else if (data.file(i).form().points != dataset::PointForm::sphere)
            fail("symmetries = \"longitude\": data set '" + data.file(i).path() +
                 "' has no grid on the sphere");
    }
}

}  // namespace surrogate::tool
