// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "libsurrogate/src/domain/columns.hpp"
#include "libsurrogate/src/domain/domain.hpp"

namespace surrogate::impl {

/// The points of a domain in tiles of tile_points, for threads that read or write the solver's
/// columns.
class SolverTiles {
public:
    /// Keeps references: `domain` must outlive it. Local.
    SolverTiles(const Domain& domain, const kernels::Queue& queue)
        : domain_(domain), queue_(queue), bad_(queue.n_thread()) {}

    /// Calls body(first point, number of points, thread) for each tile, and returns the first bad
    /// value. Local.
    template <class Body>
    BadValue for_each(const Body& body) {
        constexpr int64_t size = kernels::tile_points;
        const int64_t n = domain_.n_local();
        bad_.clear();
        queue_.parallel_for((n + size - 1) / size, [&](int64_t tile, int thread) {
            const int64_t first = tile * size;
            bad_.note(thread, body(first, std::min(size, n - first), thread));
        });
        return bad_.first();
    }

private:
    const Domain& domain_;
    kernels::Queue queue_;
    FirstBad bad_;  // (n_thread)
};

}  // namespace surrogate::impl
