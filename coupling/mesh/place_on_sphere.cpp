// SPDX-License-Identifier: Apache-2.0
#include <surrogate/surrogate_vtk.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "coupling/mesh/placement.hpp"

namespace surrogate::tool {

namespace {

/// Largest difference of equal latitudes in steps of the grid, as in
/// surrogate_domain_create_sphere.
constexpr double tolerance = 2e-3;

bool is_grid(const char* grid, const std::vector<double>& latitude, int64_t n_lon) {
    const size_t n = latitude.size();
    std::vector<double> node(n);
    surrogate::check(surrogate_sphere_nodes(grid, static_cast<int64_t>(n), n_lon, node.data(),
                                            nullptr, nullptr));
    if (latitude.front() < latitude.back()) std::reverse(node.begin(), node.end());
    for (size_t i = 0; i < n; ++i) {
        double gap = 180;
        if (i > 0) gap = std::abs(node[i] - node[i - 1]);
        if (i + 1 < n) gap = std::min(gap, std::abs(node[i + 1] - node[i]));
        if (!(std::abs(latitude[i] - node[i]) <= tolerance * gap)) return false;
    }
    return true;
}

/// Returns the grid whose nodes are the rows of the file; "" if no grid matches.
std::string grid_of(const vtk::SphereFile& file, const std::string& wanted) {
    const auto n_lon = static_cast<int64_t>(file.longitude.size());
    for (const std::string& grid :
         {wanted, std::string("equiangular"), std::string("legendre-gauss"), std::string("lobatto"),
          std::string("equiangular-trapezoidal")})
        if (is_grid(grid.c_str(), file.latitude, n_lon)) return grid;
    return "";
}

/// This rank's rows of the file, from the first row of its slab up to the first row of the next
/// slab, which belongs to the next rank. The last slab includes the last row. Rows of caps are in
/// slabs, but not in the grid.
class Sphere final : public Placement {
public:
    Sphere(const Job& job, const vtk::MeshFile& mesh, const vtk::SphereFile& file, std::string grid)
        : file_(file), grid_(std::move(grid)), n_rows_(mesh.n_rows(SURROGATE_POINT)) {
        own_ = vtk::slab(file.whole, job.rank(), job.size(), file.lat_axis);
        const auto lat = 2 * static_cast<size_t>(file.lat_axis);
        if (own_[0] <= own_[1]) {
            n_slab_ = own_[lat + 1] - own_[lat] + 1;
            has_overlap_ = own_[lat + 1] < file.whole[lat + 1];
            has_cap_before_ = file.n_cap_before > 0 && own_[lat] == file.whole[lat];
            has_cap_after_ = file.n_cap_after > 0 && !has_overlap_;
            first_row_ = has_cap_before_ ? 1 : 0;
            first_lat_ = own_[lat] - file.whole[lat] - file.n_cap_before + first_row_;
            n_lat_ = n_slab_ - first_row_ - (has_overlap_ || has_cap_after_ ? 1 : 0);
        }
        is_westward_ = n_lon() > 1 && file.longitude[1] < file.longitude[0];
        for (int64_t i = 0; i < n_lat_; ++i)
            for (int64_t j = 0; j < n_lon(); ++j)
                chosen_.push_back(row_at(first_row_ + i, is_westward_ ? n_lon() - 1 - j : j));
    }

    Domain make_domain(const Context& context, const std::vector<double>&, int64_t, const double*,
                       const int64_t*) const override {
        std::vector<double> longitude = file_.longitude;
        if (is_westward_) std::reverse(longitude.begin(), longitude.end());
        surrogate_sphere sphere{};
        sphere.grid = grid_.c_str();
        sphere.n_lat = static_cast<int64_t>(file_.latitude.size());
        sphere.n_lon = n_lon();
        sphere.first_lat = first_lat_;
        sphere.n_lat_local = n_lat_;
        sphere.n_lon_local = n_lat_ > 0 ? n_lon() : 0;
        sphere.latitude = file_.latitude.data() + first_lat_;
        sphere.longitude = longitude.data();
        return Domain(context, sphere);
    }

    std::vector<double> spread(const Job& job,
                               const std::vector<double>& of_chosen) const override {
        std::vector<double> all(static_cast<size_t>(n_rows_),
                                std::numeric_limits<double>::quiet_NaN());
        for (size_t i = 0; i < chosen_.size(); ++i)
            all[static_cast<size_t>(chosen_[i])] = of_chosen[i];
        const std::vector<double> next = first_row_of_next(job, all);
        for (int64_t j = 0; j < static_cast<int64_t>(next.size()); ++j)
            all[static_cast<size_t>(row_at(n_slab_ - 1, j))] = next[static_cast<size_t>(j)];
        if (has_cap_before_) fill_cap(0, 1, all);
        if (has_cap_after_) fill_cap(n_slab_ - 1, n_slab_ - 2, all);
        if (file_.is_closed)
            for (int64_t i = 0; i < n_slab_; ++i)
                all[static_cast<size_t>(row_at(i, n_lon()))] =
                    all[static_cast<size_t>(row_at(i, 0))];
        return all;
    }

private:
    int64_t n_lon() const { return static_cast<int64_t>(file_.longitude.size()); }

    /// Returns the row of the part for row i and column j of the slab, in the numbering of the
    /// file.
    int64_t row_at(int64_t i, int64_t j) const {
        int64_t row = 0, step = 1;
        for (int axis = 0; axis < 3; ++axis) {
            if (axis == file_.lat_axis) row += i * step;
            if (axis == file_.lon_axis) row += j * step;
            const auto a = 2 * static_cast<size_t>(axis);
            step *= own_[a + 1] - own_[a] + 1;
        }
        return row;
    }

    /// Sets a cap to the mean of the row beside it, as in files of the library.
    void fill_cap(int64_t cap, int64_t row, std::vector<double>& all) const {
        double sum = 0;
        for (int64_t j = 0; j < n_lon(); ++j) sum += all[static_cast<size_t>(row_at(row, j))];
        for (int64_t j = 0; j < n_lon(); ++j)
            all[static_cast<size_t>(row_at(cap, j))] = sum / static_cast<double>(n_lon());
    }

    /// Returns the values of the shared last row from its owner; empty without such a row.
    std::vector<double> first_row_of_next(const Job& job, const std::vector<double>& all) const {
        std::vector<std::vector<std::byte>> to_rank(static_cast<size_t>(job.size()));
        const int before = owner_of(job, first_lat_ + file_.n_cap_before - 1);
        if (n_lat_ > 0 && before >= 0 && !has_cap_before_) {
            std::vector<double> mine;
            for (int64_t j = 0; j < n_lon(); ++j)
                mine.push_back(all[static_cast<size_t>(row_at(first_row_, j))]);
            auto& bytes = to_rank[static_cast<size_t>(before)];
            bytes.resize(mine.size() * sizeof(double));
            std::memcpy(bytes.data(), mine.data(), bytes.size());
        }
        for (const auto& bytes : job.exchange(to_rank)) {
            if (bytes.empty()) continue;
            std::vector<double> row(bytes.size() / sizeof(double));
            std::memcpy(row.data(), bytes.data(), bytes.size());
            return row;
        }
        return {};
    }

    /// Returns the rank whose slab has the cells after this row of the file, -1 if there are none.
    int owner_of(const Job& job, int64_t lat) const {
        const auto axis = 2 * static_cast<size_t>(file_.lat_axis);
        for (int rank = 0; rank < job.size(); ++rank) {
            const vtk::Extent slab = vtk::slab(file_.whole, rank, job.size(), file_.lat_axis);
            const int64_t first = slab[axis] - file_.whole[axis];
            const int64_t last = slab[axis + 1] - file_.whole[axis];
            if (slab[0] <= slab[1] && lat >= first && lat < last) return rank;
        }
        return -1;
    }

    vtk::SphereFile file_;
    std::string grid_;
    int64_t n_rows_;
    vtk::Extent own_ = {};
    int64_t first_lat_ = 0, n_lat_ = 0;  ///< rows of the grid
    int64_t n_slab_ = 0,
            first_row_ = 0;  ///< rows of the slab, and its first row that is in the grid
    bool has_overlap_ = false, has_cap_before_ = false, has_cap_after_ = false;
    bool is_westward_ = false;
};

}  // namespace

std::unique_ptr<Placement> place_on_sphere(const Job& job, const vtk::MeshFile& mesh,
                                           const vtk::SphereFile& file, const Model& model) {
    std::unique_ptr<Placement> placement;
    job.agree([&] {
        const auto hidden = mesh.is_hidden(SURROGATE_POINT);
        if (std::find(hidden.begin(), hidden.end(), uint8_t{1}) != hidden.end())
            throw Failure(
                Exit::bad_usage,
                "the mesh has hidden points; a model on the sphere needs all of its grid");
        const vtk::Extent own = vtk::slab(file.whole, job.rank(), job.size(), file.lat_axis);
        vtk::check_points(file, own, mesh.positions(SURROGATE_POINT));
        const std::string wanted = model.input_domain().grid;
        const vtk::SphereFile inner = vtk::without_caps(file);
        if (const std::string grid = grid_of(file, wanted); !grid.empty())
            placement = std::make_unique<Sphere>(job, mesh, file, grid);
        else if (const std::string open = grid_of(inner, wanted); !open.empty())
            placement = std::make_unique<Sphere>(job, mesh, inner, open);
        else  // the grid of the model, so that the library rejects it with both lists
            placement = std::make_unique<Sphere>(job, mesh, file, wanted);
    });
    return placement;
}

}  // namespace surrogate::tool
