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
    /// Collective. Rows have at most `widest` numbers. comm outlives it. Throws no_memory.
    RowExchange(Communicator& comm, RowRoute route, int64_t widest)
        : route_(std::move(route)), comm_(comm) {
        comm_.agree([&] {
            solver_ = kernels::Buffer<T>(route_.n_origin() * widest);
            canonical_ = kernels::Buffer<T>(n_canonical() * widest);
            scratch_ = kernels::Buffer<T>(route_.scratch_rows() * widest);
            route_.reserve(comm_, row_bytes(widest));
        });
    }

    int64_t n_canonical() const { return route_.target_rows().size(); }
    T* solver() { return solver_.data(); }        ///< (n_local, n_column)
    T* canonical() { return canonical_.data(); }  ///< (n_canonical(), n_column)

    /// Collective; allocate nothing.
    void to_canonical(int64_t n_column) {
        route_.to_target(comm_, solver(), scratch_.data(), canonical(), row_bytes(n_column));
    }
    void to_solver(int64_t n_column) {
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
    kernels::Buffer<T> solver_, canonical_, scratch_;
};

}  // namespace surrogate::impl
