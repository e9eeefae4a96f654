// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/evaluate_figures.hpp"

#ifdef SURROGATE_HAVE_VTK

#include <algorithm>
#include <cmath>
#include <surrogate/surrogate_vtk.hpp>

namespace surrogate::tool {

namespace {

using dataset::PointForm;

/// A field on a grid of two axes as an image has it: x fastest, from left to right, y upward.
struct Image {
    int64_t n_x = 0, n_y = 0;
    surrogate_png_axis x{}, y{};
    std::string x_name, y_name, x_unit, y_unit;  ///< texts of the axes
    bool is_transposed = false, is_upside_down = false;

    /// Returns the values of a field in C order of the file in the order of the image.
    std::vector<double> ordered(const std::vector<double>& values) const {
        std::vector<double> image(values.size());
        for (int64_t j = 0; j < n_y; ++j) {
            for (int64_t i = 0; i < n_x; ++i) {
                const int64_t row = is_upside_down ? n_y - 1 - j : j;
                const int64_t from = is_transposed ? i * n_y + row : row * n_x + i;
                image[static_cast<size_t>(j * n_x + i)] = values[static_cast<size_t>(from)];
            }
        }
        return image;
    }
};

/// Returns an axis whose ends are half a step outside of the first and last point, without texts.
surrogate_png_axis axis_of(const std::vector<double>& points) {
    const double first = points.front(), last = points.back();
    const double half =
        points.size() > 1 ? (last - first) / 2 / (static_cast<double>(points.size()) - 1) : 0.5;
    return {nullptr, nullptr, first - half, last + half};
}

Image sphere_image(const dataset::ReadFile& file) {
    Image image;
    image.n_y = file.form().extents[0];
    image.n_x = file.form().extents[1];
    std::vector<double> latitude = file.along("lat");
    image.is_upside_down = latitude.front() > latitude.back();
    if (image.is_upside_down) std::reverse(latitude.begin(), latitude.end());
    image.x_name = "longitude";
    image.y_name = "latitude";
    image.x_unit = image.y_unit = "degrees";
    image.x = axis_of(file.along("lon"));
    image.y = axis_of(latitude);
    return image;
}

/// The axis with coordinate X is horizontal, or else the first one.
Image grid_image(const dataset::ReadFile& file) {
    const dataset::StoredForm& form = file.form();
    size_t horizontal = 0;
    std::string units[2];
    for (const dataset::StoredCoordinate& coordinate : form.coordinates) {
        for (size_t axis = 0; axis < 2; ++axis) {
            if (coordinate.name != form.point_axes[axis]) continue;
            units[axis] = coordinate.unit;
            if (coordinate.axis == 0) horizontal = axis;
        }
    }
    const size_t vertical = 1 - horizontal;
    Image image;
    image.n_x = form.extents[horizontal];
    image.n_y = form.extents[vertical];
    image.is_transposed = horizontal == 0;
    image.x_name = form.point_axes[horizontal];
    image.y_name = form.point_axes[vertical];
    image.x_unit = units[horizontal];
    image.y_unit = units[vertical];
    image.x = axis_of(file.along(image.x_name));
    image.y = axis_of(file.along(image.y_name));
    return image;
}

/// Returns quadrangles between the points of a structured grid of two axes.
struct Cells {
    std::vector<int64_t> offsets = {0}, connectivity;
    std::vector<uint8_t> types;
};
Cells cells_of(const std::vector<int64_t>& extents) {
    Cells cells;
    if (extents.size() != 2) return cells;
    constexpr uint8_t quadrangle = 9;
    for (int64_t i = 0; i + 1 < extents[0]; ++i) {
        for (int64_t j = 0; j + 1 < extents[1]; ++j) {
            const int64_t first = i * extents[1] + j;
            for (const int64_t point :
                 {first, first + 1, first + extents[1] + 1, first + extents[1]})
                cells.connectivity.push_back(point);
            cells.offsets.push_back(std::ssize(cells.connectivity));
            cells.types.push_back(quadrangle);
        }
    }
    return cells;
}

}  // namespace

void require_figure(const TrainData& data) {
    if (data.form().points == PointForm::sphere || data.form().point_axes.size() == 2) return;
    fail(
        "the points of the data are not on a structured grid of two axes or on a sphere, expected "
        "by "
        "--plot; --worst writes any points for ParaView");
}

void require_series(const std::string& path) {
    if (path.ends_with(".pvd")) return;
    fail("--worst '" + path + "' has another ending, expected .pvd");
}

void write_figure(const std::string& path, const ShownSample& sample, const std::string& heading,
                  const std::vector<ShownPanel>& panels) {
    const dataset::ReadFile& file = sample.data.file(sample.pair.file);
    const Image image =
        file.form().points == PointForm::sphere ? sphere_image(file) : grid_image(file);
    std::vector<std::vector<double>> values;
    values.reserve(panels.size());
    std::vector<surrogate_png_panel> fields;
    std::vector<surrogate_png_label> labels;
    for (const ShownPanel& shown : panels) {
        values.push_back(image.ordered(shown.field.values));
        fields.push_back(
            panel(grid_values(values.back().data(), image.n_x, image.n_y), shown.low, shown.high,
                  shown.is_difference ? SURROGATE_COLOR_DIVERGING : SURROGATE_COLOR_SEQUENTIAL));
        labels.push_back(
            label(shown.title.c_str(), shown.field.name.c_str(), shown.field.unit.c_str()));
        labels.back().frame = SURROGATE_FRAME_AXES;
        labels.back().x = image.x;
        labels.back().y = image.y;
        labels.back().x.name = image.x_name.c_str();
        labels.back().x.unit = image.x_unit.c_str();
        labels.back().y.name = image.y_name.c_str();
        labels.back().y.unit = image.y_unit.c_str();
    }
    write_png(path, heading, fields, labels);
}

void write_sample(const std::string& path, const ShownSample& sample,
                  const std::vector<ShownField>& shown) {
    const dataset::ReadFile& file = sample.data.file(sample.pair.file);
    std::vector<surrogate_series_field> fields;
    for (const ShownField& field : shown)
        fields.push_back(point_field(field.name.c_str(),
                                     column(field.values.data(), std::ssize(field.values)),
                                     field.unit.c_str()));
    Series series(path);
    if (file.form().points == PointForm::sphere) {
        const auto& extents = file.form().extents;
        const std::vector<double> latitude = file.along("lat"), longitude = file.along("lon");
        surrogate_sphere_surface surface{};
        surface.n_lat = surface.n_lat_local = extents[0];
        surface.n_lon = extents[1];
        surface.latitude = latitude.data();
        surface.longitude = longitude.data();
        surface.radius = 1;
        series.write_step(0, surface, fields);
        return;
    }
    const auto n_axis = std::ssize(file.form().coordinates);
    const auto n_point = std::ssize(shown.front().values);
    surrogate_mesh mesh = cloud(matrix(sample.points.data(), n_point, n_axis));
    const Cells grid = cells_of(file.extents(sample.pair.input.sample));
    if (!grid.types.empty()) mesh = cells(mesh.points, grid.offsets, grid.connectivity, grid.types);
    series.write_step(0, mesh, fields);
}

}  // namespace surrogate::tool

#else

namespace surrogate::tool {

namespace {

[[noreturn]] void refuse(const std::string& option) {
    fail(option + " needs VTK, and this build has none (Debian: libvtk9-dev)");
}

}  // namespace

void require_figure(const TrainData&) {
    refuse("--plot");
}
void require_series(const std::string&) {
    refuse("--worst");
}
void write_figure(const std::string&, const ShownSample&, const std::string&,
                  const std::vector<ShownPanel>&) {
    refuse("--plot");
}
void write_sample(const std::string&, const ShownSample&, const std::vector<ShownField>&) {
    refuse("--worst");
}

}  // namespace surrogate::tool

#endif
