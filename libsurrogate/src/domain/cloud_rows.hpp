// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "libsurrogate/src/domain/cloud_layout.hpp"
#include "libsurrogate/src/domain/solver_tiles.hpp"
#include "libsurrogate/src/ranks/row_exchange.hpp"

namespace surrogate::impl {

/// Rows of numbers, one per point, in the order of a domain and in the order of a layout.
template <class T>
class CloudRows {
public:
    CloudRows(const PointDomain& domain, const kernels::Queue& queue, int64_t n_column)
        : domain_(domain), tiles_(domain, queue), n_column_(n_column) {}

    /// Allocates for a new layout. Collective, with agreement.
    void follow(const CloudLayout& layout) {
        Communicator& comm = domain_.context().comm();
        std::optional<RowRoute> route;
        comm.agree([&] { route.emplace(layout.route()); });
        rows_.emplace(comm, std::move(*route), n_column_, layout.moves());
    }

    /// Reads the columns of the domain's points into solver rows. Local.
    BadValue gather(std::span<const Column> columns, OutsideCounts& outside, int first_column) {
        BadValue bad = tiles_.for_each([&](int64_t first, int64_t count, int thread) {
            return impl::gather<T>(columns, first, count, rows_->solver() + first * n_column_,
                                   n_column_, 1, outside.of(thread) + first_column);
        });
        if (bad.column >= 0) bad.column += first_column;
        return bad;
    }
    /// Writes solver rows to the columns of the domain's points. Local.
    BadValue scatter(std::span<const Column> columns) {
        return tiles_.for_each([&](int64_t first, int64_t count, int) {
            return impl::scatter<T>(rows_->solver() + first * n_column_, n_column_, 1, columns,
                                    first, count);
        });
    }
    /// Scatters solver rows to the layout. Collective if points move.
    void to_layout() {
        if (n_column_ > 0) rows_->to_canonical(n_column_);
    }
    void to_solver() { rows_->to_solver(n_column_); }

    /// Describes the rows from `row` of the layout as columns.
    void set_columns(int64_t row, std::span<Column> columns) {
        for (size_t c = 0; c < columns.size(); ++c) {
            columns[c] = {};
            columns[c].data = rows_->canonical() + row * n_column_ + static_cast<int64_t>(c);
            columns[c].stride = n_column_;
            columns[c].is_double = sizeof(T) == 8;
        }
    }
    int64_t n_column() const { return n_column_; }
    int64_t bytes() const { return rows_ ? rows_->bytes() : 0; }

private:
    const PointDomain& domain_;
    SolverTiles tiles_;
    int64_t n_column_;
    std::optional<RowExchange<T>> rows_;
};

}  // namespace surrogate::impl
