// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/sphere_file.hpp"

#include <vtkNew.h>
#include <vtkStructuredGrid.h>
#include <vtkXMLReader.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "coupling/mesh/mesh_reader.hpp"
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

constexpr double degree = std::numbers::pi / 180;

/// Largest difference of equal positions in steps of the grid: coordinates in single precision
/// pass, a half step does not.
constexpr double tolerance = 2e-3;

using Point = std::array<double, 3>;
struct LatLon {
    double lat, lon;
};

LatLon lat_lon(const Point& p, bool is_lon_lat) {
    if (is_lon_lat) return {p[1], p[0]};
    return {std::atan2(p[2], std::hypot(p[0], p[1])) / degree, std::atan2(p[1], p[0]) / degree};
}

Point on_unit_sphere(const LatLon& at) {
    const double lat = at.lat * degree, lon = at.lon * degree;
    return {std::cos(lat) * std::cos(lon), std::cos(lat) * std::sin(lon), std::sin(lat)};
}

/// Returns the points of the file with the indices `at`, for all indices along `axis`.
std::vector<Point> read_line(vtkXMLReader* reader, const std::string& path, const Extent& whole,
                             std::array<int, 3> at, int axis) {
    Extent line;
    for (size_t a = 0; a < 3; ++a) line[2 * a] = line[2 * a + 1] = at[a];
    const auto along = 2 * static_cast<size_t>(axis);
    line[along] = whole[along];
    line[along + 1] = whole[along + 1];
    reading(path, [&] { reader->UpdateExtent(line.data()); });
    vtkNew<vtkStructuredGrid>
        grid;  // cropped below, because a reader may return more than was requested
    grid->ShallowCopy(reader->GetOutputDataObject(0));
    if (!std::equal(line.begin(), line.end(), grid->GetExtent())) grid->Crop(line.data());
    std::vector<Point> points(static_cast<size_t>(grid->GetNumberOfPoints()));
    for (size_t i = 0; i < points.size(); ++i)
        grid->GetPoint(static_cast<vtkIdType>(i), points[i].data());
    for (const Point& p : points)
        if (!std::all_of(p.begin(), p.end(), [](double x) { return std::isfinite(x); }))
            throw Error(SURROGATE_BAD_FILE, "'" + path + "' has points that are not finite");
    return points;
}

/// Returns the two axes with more than one point.
std::array<int, 2> wide_axes(const Extent& whole, const std::string& path) {
    std::vector<int> wide;
    std::string sizes;
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = 2 * static_cast<size_t>(axis);
        if (whole[a + 1] > whole[a]) wide.push_back(axis);
        sizes += (axis > 0 ? " x " : "") + std::to_string(whole[a + 1] - whole[a] + 1);
    }
    if (wide.size() != 2)
        throw Error(SURROGATE_NOT_SUPPORTED,
                    "'" + path + "' has " + sizes +
                        " points; a grid on the sphere is one layer of rows and columns");
    return {wide[0], wide[1]};
}

/// Returns true for a map. z of a map is the radius, which is constant; on a sphere z varies along
/// a meridian.
bool is_map(const std::vector<Point>& first, const std::vector<Point>& second) {
    double low = first[0][2], high = low;
    for (const auto* line : {&first, &second})
        for (const Point& p : *line) {
            low = std::min(low, p[2]);
            high = std::max(high, p[2]);
        }
    return high - low <= 1e-6 * std::max(std::abs(low), std::abs(high));
}

double spread_of_latitude(const std::vector<Point>& line, bool is_lon_lat) {
    double low = 90, high = -90;
    for (const Point& p : line) {
        low = std::min(low, lat_lon(p, is_lon_lat).lat);
        high = std::max(high, lat_lon(p, is_lon_lat).lat);
    }
    return high - low;
}

/// Sets the longitudes of a row without jumps of 360 degrees, and removes a column that repeats the
/// first.
void set_longitudes(const std::vector<Point>& row, SphereFile& file) {
    for (const Point& p : row) {
        double lon = lat_lon(p, file.is_lon_lat).lon;
        if (!file.longitude.empty()) lon += 360 * std::round((file.longitude.back() - lon) / 360);
        file.longitude.push_back(lon);
    }
    if (file.longitude.size() < 3) return;
    const double around = std::abs(file.longitude.back() - file.longitude.front());
    const double step = around / static_cast<double>(file.longitude.size() - 1);
    file.is_closed = std::abs(around - 360) <= tolerance * step;
    if (file.is_closed) file.longitude.pop_back();
}

}  // namespace

SphereFile read_sphere_file(const std::string& path) {
    const auto reader = open_mesh(path, parse_mesh_name(path));
    SphereFile file;
    file.whole = whole_extent(reader, path);
    const std::array<int, 2> axes = wide_axes(file.whole, path);
    std::array<int, 3> at = {file.whole[0], file.whole[2], file.whole[4]};
    const std::vector<Point> lines[] = {read_line(reader, path, file.whole, at, axes[0]),
                                        read_line(reader, path, file.whole, at, axes[1])};
    file.is_lon_lat = is_map(lines[0], lines[1]);
    const double spread[] = {spread_of_latitude(lines[0], file.is_lon_lat),
                             spread_of_latitude(lines[1], file.is_lon_lat)};
    const size_t meridian = spread[0] > spread[1] ? 0 : 1;
    file.lat_axis = axes[meridian];
    file.lon_axis = axes[1 - meridian];
    const auto n_row = static_cast<double>(lines[meridian].size());
    if (!(spread[1 - meridian] <= tolerance * spread[meridian] / n_row))
        throw Error(SURROGATE_NOT_SUPPORTED,
                    "'" + path +
                        "' is not a grid of rows along circles of latitude: the latitude "
                        "varies by " +
                        std::to_string(spread[0]) + " and " + std::to_string(spread[1]) +
                        " degrees along its two axes; points are x, y, z on a sphere around the "
                        "origin or (longitude, latitude, radius) in degrees");
    for (const Point& p : lines[meridian]) file.latitude.push_back(lat_lon(p, file.is_lon_lat).lat);
    // Uses the middle row, because longitudes at a pole are undefined.
    at[static_cast<size_t>(file.lat_axis)] += static_cast<int>(file.latitude.size() / 2);
    set_longitudes(read_line(reader, path, file.whole, at, file.lon_axis), file);
    return file;
}

SphereFile without_caps(SphereFile file) {
    constexpr double at_pole = 90 - 1e-4;  // coordinates in single precision pass
    if (file.is_lon_lat || file.latitude.size() < 4) return file;
    if (std::abs(file.latitude.back()) >= at_pole) {
        file.latitude.pop_back();
        file.n_cap_after = 1;
    }
    if (std::abs(file.latitude.front()) >= at_pole) {
        file.latitude.erase(file.latitude.begin());
        file.n_cap_before = 1;
    }
    return file;
}

void check_points(const SphereFile& file, const Extent& own, const std::vector<double>& x) {
    const auto& lat = file.latitude;
    const double step =
        std::min(std::abs(lat.back() - lat.front()) / static_cast<double>(lat.size()),
                 360 / static_cast<double>(file.longitude.size()));
    size_t next = 0;
    std::array<int, 3> at;
    for (at[2] = own[4]; at[2] <= own[5]; ++at[2])
        for (at[1] = own[2]; at[1] <= own[3]; ++at[1])
            for (at[0] = own[0]; at[0] <= own[1]; ++at[0]) {
                const auto index = [&](int axis) {
                    const auto a = static_cast<size_t>(axis);
                    return static_cast<size_t>(at[a] - file.whole[2 * a]);
                };
                const LatLon node = {lat[index(file.lat_axis)],
                                     file.longitude[index(file.lon_axis) % file.longitude.size()]};
                const LatLon found =
                    lat_lon({x[3 * next], x[3 * next + 1], x[3 * next + 2]}, file.is_lon_lat);
                ++next;
                const Point a = on_unit_sphere(node), b = on_unit_sphere(found);
                const double distance = std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) / degree;
                if (distance <= tolerance * step) continue;
                throw Error(SURROGATE_BAD_FILE,
                            "point (" + std::to_string(at[0]) + ", " + std::to_string(at[1]) +
                                ", " + std::to_string(at[2]) + ") is at latitude " +
                                std::to_string(found.lat) + ", longitude " +
                                std::to_string(found.lon) + "; its row and column meet at " +
                                std::to_string(node.lat) + ", " + std::to_string(node.lon));
            }
}

}  // namespace surrogate::vtk
