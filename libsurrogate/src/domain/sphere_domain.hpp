// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/grid/grid.hpp"
#include "libsurrogate/src/domain/columns.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/ranks/neighbor_exchange.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl {

/// The block of a rank, as its solver counts rows and columns.
struct GridBlock {
    int64_t first_row = 0, n_row = 0, first_column = 0, n_column = 0;

    int64_t size() const { return n_row * n_column; }
};

/// A grid on the sphere, distributed over ranks in blocks. Every rank knows all blocks.
class SphereDomain final : public Domain {
public:
    /// Makes the domain of surrogate_domain_create_sphere(). A null `sphere` throws on all ranks.
    /// Collective.
    SphereDomain(std::shared_ptr<Context> context, const surrogate_sphere* sphere);

    const kernels::Grid& grid() const { return grid_; }
    const GridBlock& block(int rank) const { return blocks_[static_cast<size_t>(rank)]; }
    const GridBlock& own() const { return block(context().comm().rank()); }

    /// Throws invalid_argument, with both lists of longitudes, unless the columns are at the
    /// longitudes of the model: 0, 360 / n_lon, ... Must be called before the functions below.
    void require_whole_shift() const;

    /// Appends the part of columns [first, first + count) of model row `row` that `rank` owns: at
    /// most two segments (a block may reach over longitude 0).
    void add_owned(int rank, const Segment& wanted, std::vector<Segment>& owned) const;

    /// Returns the model rows of which `rank` owns columns.
    Range model_rows(int rank) const;
    /// Returns whether every rank owns whole rows.
    bool has_whole_rows() const;

    /// Returns the model row of a row of the solver, and the model column of one of its columns.
    int64_t model_row(int64_t solver_row) const {
        return is_south_first_ ? grid_.n_lat - 1 - solver_row : solver_row;
    }
    int64_t model_column(int64_t solver_column) const {
        return (solver_column + shift()) % grid_.n_lon;
    }
    /// Returns local row and column of a point that this rank owns.
    int64_t local_row(int64_t row) const { return model_row(row) - own().first_row; }
    int64_t local_column(int64_t column) const {
        return (column - shift() + grid_.n_lon) % grid_.n_lon - own().first_column;
    }

    /// Returns the position of a local point, counted row by row in the block, in the order of all
    /// points row by row from north to south, each from longitude 0 eastwards. The block may have
    /// any columns.
    int64_t position(int64_t local) const;

    /// Returns this rank's block in the form of surrogate_domain_create_sphere(), without
    /// coordinates.
    surrogate_sphere description() const;

    /// Describes the points of local row `row` in the caller's memory as a column of n_column
    /// points.
    Column row_of(const Column& column, int64_t row) const;

    std::string point_text(int64_t local) const override;

private:
    struct Facts;
    Facts read(const surrogate_sphere* sphere);
    void set_memory(const surrogate_sphere& sphere);
    int direction_of(const surrogate_sphere& sphere) const;
    double first_longitude_of(const surrogate_sphere& sphere) const;
    void agree_on(const std::vector<Facts>& all);
    void require_tiling() const;
    int64_t first_row_with_holes() const;
    int64_t shift() const;

    kernels::Grid grid_;
    std::vector<double> latitude_;   // of the model's rows, degrees north
    std::vector<GridBlock> blocks_;  // of all ranks
    bool is_south_first_ = false;
    double first_longitude_ = 0;  // degrees of solver column 0, in [0, 360)
    int64_t lat_step_ = 0, lon_step_ = 1;
};

}  // namespace surrogate::impl
