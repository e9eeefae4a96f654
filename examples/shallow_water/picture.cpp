// SPDX-License-Identifier: Apache-2.0
#include "picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "output.hpp"

namespace shallow_water {

namespace {

constexpr int64_t n_pixel = 400;  // per panel side: the smallest size of a figure
using std::numbers::pi;

/// A whole field, interpolated between its nodes.
class Globe {
public:
    Globe(const Latitudes& latitudes, const std::vector<double>& field)
        : n_lon_(static_cast<int64_t>(field.size() / latitudes.sine.size())), field_(field) {
        for (std::size_t k = 0; k < latitudes.sine.size(); ++k)
            north_.push_back(latitudes.latitude(static_cast<int64_t>(k)));
    }

    /// Returns the bilinear interpolation; beyond the outermost rows the value of that row.
    double operator()(double latitude, double longitude) const {
        const auto below = std::lower_bound(north_.begin(), north_.end(), latitude, std::greater());
        const auto last = static_cast<int64_t>(north_.size()) - 1;
        const int64_t south = std::min<int64_t>(below - north_.begin(), last);
        const int64_t north = std::max<int64_t>(below - north_.begin() - 1, 0);
        const double gap = at(north) - at(south);
        const double share = gap > 0 ? (at(north) - latitude) / gap : 0;
        return (1 - share) * along(north, longitude) + share * along(south, longitude);
    }

private:
    double at(int64_t row) const { return north_[static_cast<std::size_t>(row)]; }

    double along(int64_t row, double longitude) const {
        double column = longitude / (2 * pi) * double(n_lon_);
        column -= double(n_lon_) * std::floor(column / double(n_lon_));
        const int64_t west = std::min(static_cast<int64_t>(column), n_lon_ - 1);
        const double share = column - double(west);
        const auto value = [&](int64_t j) {
            return field_[static_cast<std::size_t>(row * n_lon_ + j)];
        };
        return (1 - share) * value(west) + share * value((west + 1) % n_lon_);
    }

    int64_t n_lon_;
    const std::vector<double>& field_;
    std::vector<double> north_;  // latitude by row, descending
};

/// Returns true if squares are larger in the northern rows than in the southern ones.
bool is_northern(const std::vector<double>& field) {
    double excess = 0;
    for (std::size_t i = 0; i < field.size(); ++i)
        excess += (2 * i < field.size() ? 1 : -1) * field[i] * field[i];
    return !(excess < 0);
}

}  // namespace

std::vector<double> orthographic(const Latitudes& latitudes, const std::vector<double>& field,
                                 double latitude, double longitude, int64_t n_pixel) {
    const Globe globe(latitudes, field);
    std::vector<double> pixels;
    const double c = std::cos(latitude), s = std::sin(latitude);
    for (int64_t j = 0; j < n_pixel; ++j)
        for (int64_t i = 0; i < n_pixel; ++i) {
            const double x = (2 * double(i) + 1) / double(n_pixel) - 1;
            const double y = (2 * double(j) + 1) / double(n_pixel) - 1;
            const double z2 = 1 - x * x - y * y;
            const double z = std::sqrt(std::max(z2, 0.0));  // towards the eye
            const double north = std::asin(std::clamp(z * s + y * c, -1.0, 1.0));
            const double east = longitude + std::atan2(x, z * c - y * s);
            pixels.push_back(z2 < 0 ? std::numeric_limits<double>::quiet_NaN()
                                    : globe(north, east));
        }
    return pixels;
}

void write_picture(const Layout& layout, const Latitudes& latitudes, const std::string& path,
                   const std::string& heading, const std::vector<Disk>& disks) {
    std::vector<std::vector<double>> pixels;
    double latitude = 0;
    for (const Disk& disk : disks) {
        const std::vector<double> field = layout.gather_rows(disk.field);
        if (layout.rank() != 0) continue;
        if (pixels.empty()) latitude = is_northern(field) ? pi / 4 : -pi / 4;
        pixels.push_back(orthographic(latitudes, field, latitude, pi, n_pixel));
    }
    if (layout.rank() != 0) return;
    std::vector<surrogate_png_panel> panels;
    std::vector<surrogate_png_label> labels;
    for (std::size_t d = 0; d < disks.size(); ++d) {
        panels.push_back({{pixels[d].data(),
                           {n_pixel, n_pixel},
                           {1, n_pixel},
                           SURROGATE_FLOAT64,
                           SURROGATE_HOST},
                          disks[d].min,
                          disks[d].max,
                          SURROGATE_COLOR_DIVERGING});
        surrogate_png_label label{};
        label.title = disks[d].title;
        label.quantity = "vorticity";
        label.unit = "1/s";
        label.nan = SURROGATE_NAN_OUTLINED;
        labels.push_back(label);
    }
    char view[64];
    std::snprintf(view, sizeof view, ", from above 180 E, 45 %s", latitude > 0 ? "N" : "S");
    const surrogate_status status = surrogate_png_write_labeled(
        path.c_str(), (heading + view).c_str(), static_cast<int32_t>(panels.size()), panels.data(),
        labels.data());
    if (status != SURROGATE_SUCCESS) throw std::runtime_error(surrogate_vtk_error());
}

}  // namespace shallow_water
