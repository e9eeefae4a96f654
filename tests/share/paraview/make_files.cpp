// SPDX-License-Identifier: Apache-2.0
// Every kind of file that the library writes, on one rank and in pieces, for ParaView to open:
//     make_files DIR
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <surrogate/surrogate_vtk.hpp>
#include <vector>

namespace {

using surrogate::Series;

constexpr int n_step = 2;

/// The series of all ranks, played by one process. `write` writes the piece of a rank.
template <class Write>
void write_series(const std::string& path, int n_rank, const Write& write) {
    std::vector<Series> series;
    for (int rank = 0; rank < n_rank; ++rank) series.emplace_back(path, rank, n_rank);
    for (int step = 0; step < n_step; ++step) {
        std::vector<surrogate_piece> pieces;
        for (int rank = 0; rank < n_rank; ++rank) {
            pieces.push_back(write(series[static_cast<size_t>(rank)], 0.5 * step, rank));
            surrogate::check(pieces.back().status);
        }
        series[0].publish(pieces);
    }
}

surrogate_series_field field(const char* name, const char* unit, int32_t location,
                             const surrogate_array& array) {
    return {name, unit, location, array};
}

/// A square of n x n quadrangles, cut into strips of rows; as a cloud without its cells.
void write_mesh(const std::string& path, int n_rank, bool has_cells) {
    constexpr int64_t n = 12;
    write_series(path, n_rank, [&](Series& series, double time_s, int rank) {
        const int64_t first = n * rank / n_rank, last = n * (rank + 1) / n_rank;
        std::vector<double> x, pressure, cell_values;
        std::vector<float> wind;
        std::vector<int64_t> offsets = {0}, corners;
        for (int64_t j = first; j <= last; ++j)
            for (int64_t i = 0; i <= n; ++i) {
                x.insert(x.end(), {double(i), double(j) + 0.2 * std::sin(double(i)), 0});
                pressure.push_back(std::cos(0.3 * double(i + j) + time_s));
                wind.insert(wind.end(), {float(i), float(j), 1.0F});
            }
        for (int64_t j = 0; j < last - first; ++j)
            for (int64_t i = 0; i < n; ++i) {
                const int64_t at = j * (n + 1) + i;
                corners.insert(corners.end(), {at, at + 1, at + n + 2, at + n + 1});
                offsets.push_back(static_cast<int64_t>(corners.size()));
                cell_values.push_back(double(i * (j + first)) + time_s);
            }
        const std::vector<uint8_t> types(offsets.size() - 1, 9);
        const auto n_point = static_cast<int64_t>(pressure.size());
        const auto points = surrogate::matrix(x.data(), n_point, 3);
        std::vector<surrogate_series_field> fields = {
            field("pressure", "Pa", SURROGATE_POINT, surrogate::column(pressure.data(), n_point)),
            field("wind", "m/s", SURROGATE_POINT, surrogate::matrix(wind.data(), n_point, 3))};
        if (!has_cells) return series.write(time_s, surrogate::cloud(points), fields);
        fields.push_back(
            field("porosity", "1", SURROGATE_CELL,
                  surrogate::column(cell_values.data(), static_cast<int64_t>(types.size()))));
        return series.write(time_s, surrogate::cells(points, offsets, corners, types), fields);
    });
}

/// A box of 8 x 6 x n_z cells (0: plane) in slabs along x.
void write_image(const std::string& path, int n_rank, int n_z) {
    constexpr int n_x = 8, n_y = 6;
    write_series(path, n_rank, [&](Series& series, double time_s, int rank) {
        const int first = n_x * rank / n_rank, last = n_x * (rank + 1) / n_rank;
        const surrogate_image image = {
            {0, n_x, 0, n_y, 0, n_z}, {first, last, 0, n_y, 0, n_z}, {0, 0, 0}, {0.1, 0.1, 0.1}};
        std::vector<double> at_cells, at_points;
        for (int k = 0; k < std::max(1, n_z); ++k)
            for (int j = 0; j < n_y; ++j)
                for (int i = first; i < last; ++i) at_cells.push_back(i * j + k + time_s);
        for (int k = 0; k <= n_z; ++k)
            for (int j = 0; j <= n_y; ++j)
                for (int i = first; i <= last; ++i) at_points.push_back(std::sin(i + j + k));
        const auto n_cell = static_cast<int64_t>(at_cells.size());
        const auto n_point = static_cast<int64_t>(at_points.size());
        return series.write(time_s, image,
                            {field("mobility", "m^2/(Pa s)", SURROGATE_CELL,
                                   surrogate::column(at_cells.data(), n_cell)),
                             field("potential", "V", SURROGATE_POINT,
                                   surrogate::column(at_points.data(), n_point))});
    });
}

/// Rows from the north without pole rows, in bands that share a row.
void write_sphere(const std::string& path, int n_rank, bool is_map) {
    constexpr int64_t n_lat = 16, n_lon = 32;
    write_series(path, n_rank, [&](Series& series, double time_s, int rank) {
        const int64_t first = n_lat * rank / n_rank, last = n_lat * (rank + 1) / n_rank;
        const int64_t end = std::min(n_lat, last + 1);
        std::vector<double> latitude, height;
        for (int64_t i = first; i < end; ++i) {
            latitude.push_back(90 - 180 * (double(i) + 0.5) / n_lat);
            for (int64_t j = 0; j < n_lon; ++j)
                height.push_back(std::sin(0.4 * double(j) + time_s) * std::cos(0.1 * double(i)));
        }
        const surrogate_sphere_surface surface = {n_lat,
                                                  n_lon,
                                                  first,
                                                  last - first,
                                                  latitude.data(),
                                                  nullptr,
                                                  is_map ? 1.0 : 6.4e6,
                                                  is_map ? 1 : 0,
                                                  last < n_lat ? 1 : 0};
        return series.write(
            time_s, surface,
            {field("height", "m", SURROGATE_POINT,
                   surrogate::column(height.data(), static_cast<int64_t>(height.size())))});
    });
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return std::fprintf(stderr, "make_files DIR\n"), 2;
    try {
        const std::string folder = std::string(argv[1]) + "/";
        for (const int n_rank : {1, 3}) {
            const std::string name = folder + "ranks_" + std::to_string(n_rank) + "_";
            write_mesh(name + "cells.pvd", n_rank, true);
            write_mesh(name + "cloud.pvd", n_rank, false);
            write_image(name + "plane.pvd", n_rank, 0);
            write_image(name + "box.pvd", n_rank, 4);
            write_sphere(name + "globe.pvd", n_rank, false);
            write_sphere(name + "map.pvd", n_rank, true);
        }
    } catch (const std::exception& error) {
        return std::fprintf(stderr, "%s\n", error.what()), 1;
    }
    return 0;
}
