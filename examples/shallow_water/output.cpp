// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <algorithm>
#include <filesystem>
#include <numbers>
#include <stdexcept>

#include "field_names.hpp"
#include "stop.hpp"

namespace shallow_water {

namespace {

void check(surrogate_status status) {
    if (status != SURROGATE_SUCCESS) throw std::runtime_error(surrogate_vtk_error());
}

/// Returns the nearest rank with rows in a direction.
int neighbor(const Layout& layout, int direction) {
    for (int r = layout.rank() + direction; r >= 0 && r < layout.size(); r += direction)
        if (layout.n_row(r) > 0) return r;
    return MPI_PROC_NULL;
}

}  // namespace

Series::Series(const Layout& layout, const Latitudes& latitudes, const std::string& directory,
               const std::string& name)
    : layout_(layout),
      north_(layout.n_row() > 0 ? neighbor(layout, -1) : MPI_PROC_NULL),
      south_(layout.n_row() > 0 ? neighbor(layout, 1) : MPI_PROC_NULL) {
    const int64_t n_row = layout.n_row() + (south_ != MPI_PROC_NULL);
    for (int64_t k = layout.first_row(); k < layout.first_row() + n_row; ++k)
        latitude_.push_back(latitudes.latitude(k) * 180 / std::numbers::pi);
    rows_.resize(static_cast<std::size_t>(n_field * n_row * layout.resolution().n_lon));
    check(surrogate_series_create((directory + "/" + name + ".pvd").c_str(), layout.rank(),
                                  layout.size(), &series_));
}

/// Sets rows_ to the fields, with the first row of the next rank after each.
void Series::add_next_row(const Fields& fields) {
    if (layout_.n_row() == 0) return;  // and no message, because MPI may reject its null pointers
    const auto n_lon = static_cast<int>(layout_.resolution().n_lon);
    const int64_t n_own = layout_.n_point();
    const auto n_with = static_cast<int64_t>(rows_.size()) / n_field;
    for (int64_t f = 0; f < n_field; ++f) {
        const double* own = fields.data() + f * n_own;
        double* with = rows_.data() + f * n_with;
        std::copy_n(own, n_own, with);
        MPI_Sendrecv(own, n_lon, MPI_DOUBLE, north_, 0, with + n_own, n_lon, MPI_DOUBLE, south_, 0,
                     layout_.comm(), MPI_STATUS_IGNORE);
    }
}

void Series::write(double time_s, const Fields& fields) {
    add_next_row(fields);
    surrogate_sphere_surface surface{};
    surface.n_lat = layout_.resolution().n_lat;
    surface.n_lon = layout_.resolution().n_lon;
    surface.first_lat = layout_.first_row();
    surface.n_lat_local = layout_.n_row();
    surface.n_overlap = south_ != MPI_PROC_NULL;
    surface.latitude = latitude_.data();
    surface.radius = Planet::radius_m;
    const auto n_with = static_cast<int64_t>(rows_.size()) / n_field;
    surrogate_series_field described[n_field] = {};
    for (int64_t f = 0; f < n_field; ++f)
        described[f] = {
            field_names[f].name,
            field_names[f].unit,
            SURROGATE_POINT,
            {rows_.data() + f * n_with, {n_with, 1}, {1, 1}, SURROGATE_FLOAT64, SURROGATE_HOST}};
    surrogate_piece mine;
    const surrogate_status status =
        surrogate_series_write_sphere(series_, time_s, &surface, n_field, described, &mine);
    publish(mine);
    check(status);
}

/// Adds the state to the series on rank 0 after all pieces are written.
void Series::publish(const surrogate_piece& mine) {
    std::vector<surrogate_piece> all(layout_.rank() == 0 ? static_cast<std::size_t>(layout_.size())
                                                         : 0);
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, 0, layout_.comm());
    if (layout_.rank() == 0) check(surrogate_series_publish(series_, layout_.size(), all.data()));
}

void make_directory(MPI_Comm comm, const std::string& path) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    std::error_code error;
    if (rank == 0) std::filesystem::create_directories(path, error);
    int has_failed = error ? 1 : 0;
    MPI_Bcast(&has_failed, 1, MPI_INT, 0, comm);
    if (has_failed) throw Stop("-output " + path + ": cannot create the directory");
}

}  // namespace shallow_water
