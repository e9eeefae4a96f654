// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/ranks/row_route.hpp"

namespace surrogate::impl {

/// Redistributes rows of numbers between the solver's ordering and the target ordering of a route
/// (canonical or tree ordering), and owns the buffers. A plan with redistributed points uses it
/// before and after a run.
template <class T>
class RowExchange {
public:
    /// Allocates for rows of at most `widest` numbers. comm outlives it. moves: false on all ranks
    /// if no row leaves its rank. Collective; throws no_memory.
    RowExchange(Communicator& comm, RowRoute route, int64_t widest, bool moves = true)
        : route_(std::move(route)), comm_(comm), moves_(moves) {
        comm_.agree([&] {
            solver_ = kernels::Buffer<T>(route_.n_origin() * widest);
            canonical_ = kernels::Buffer<T>(n_canonical() * widest);
            if (!moves_) return;
            scratch_ = kernels::Buffer<T>(route_.scratch_rows() * widest);
            route_.reserve(comm_, row_bytes(widest));
        });
    }

    int64_t n_canonical() const { return route_.target_rows().size(); }
    T* solver() { return solver_.data(); }        ///< (n_local, n_column)
    T* canonical() { return canonical_.data(); }  ///< (n_canonical(), n_column)

    /// Moves n_column columns between the orderings. Collective if rows move; do not allocate.
    void to_canonical(int64_t n_column) {
        if (!moves_) return route_.to_target_alone(solver(), canonical(), row_bytes(n_column));
        route_.to_target(comm_, solver(), scratch_.data(), canonical(), row_bytes(n_column));
    }
    void to_solver(int64_t n_column) {
        if (!moves_) return route_.to_origin_alone(canonical(), solver(), row_bytes(n_column));
        route_.to_origin(comm_, canonical(), scratch_.data(), solver(), row_bytes(n_column));
    }

    int64_t bytes() const {
        return route_.bytes() + solver_.bytes() + canonical_.bytes() + scratch_.bytes();
    }

private:
    static int64_t row_bytes(int64_t n_column) {
        return n_column * static_cast<int64_t>(sizeof(T));
    }

    RowRoute route_;
    Communicator& comm_;
    bool moves_;
    kernels::Buffer<T> solver_, canonical_, scratch_;
};

}  // namespace surrogate::impl
