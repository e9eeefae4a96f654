// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/domain/row_order.hpp"

namespace surrogate::impl {

/// Rows of numbers on their way between the solver's order and the canonical one, with the memory
/// for it: what the reproducible mode needs around a run.
template <class T>
class RowExchange {
public:
    /// Collective. Rows have at most `widest` numbers.
    RowExchange(const PointDomain& domain, int64_t block_rows, int64_t widest)
        : order_(domain, block_rows), comm_(domain.context().comm()) {
        comm_.agree([&] {
            solver_ = kernels::Buffer<T>(domain.n_local() * widest);
            canonical_ = kernels::Buffer<T>(order_.rows().size() * widest);
            scratch_ = kernels::Buffer<T>(order_.scratch_rows() * widest);
            order_.reserve(comm_, row_bytes(widest));
        });
    }

    int64_t n_canonical() const { return order_.rows().size(); }
    T* solver() { return solver_.data(); }        ///< (n_local, n_column)
    T* canonical() { return canonical_.data(); }  ///< (n_canonical(), n_column)

    /// Collective; allocate nothing.
    void to_canonical(int64_t n_column) {
        order_.to_canonical(comm_, solver(), scratch_.data(), canonical(), row_bytes(n_column));
    }
    void to_solver(int64_t n_column) {
        order_.to_solver(comm_, canonical(), scratch_.data(), solver(), row_bytes(n_column));
    }

    int64_t bytes() const {
        return order_.bytes() + solver_.bytes() + canonical_.bytes() + scratch_.bytes();
    }

private:
    static int64_t row_bytes(int64_t n_column) {
        return n_column * static_cast<int64_t>(sizeof(T));
    }

    RowOrder order_;
    Communicator& comm_;
    kernels::Buffer<T> solver_, canonical_, scratch_;
};

}  // namespace surrogate::impl
