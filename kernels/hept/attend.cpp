// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/dispatch.hpp"
#include "kernels/hept/hept.hpp"

namespace surrogate::kernels::hept {

template <class T>
void attend_block(const Queue& queue, const RowShape& shape, const Block<T>& block,
                  [[maybe_unused]] T* scratch, T* sums) {
    uses_simd<T>(queue, "attend_block");
    ref::attend_block(shape, block, sums);
}

template <class T>
void attend_block_backward(const Queue& queue, const RowShape& shape, const Block<T>& block,
                           const T* given, [[maybe_unused]] T* scratch, T* dqueries, T* dkeys) {
    uses_simd<T>(queue, "attend_block_backward");
    ref::attend_block_backward(shape, block, given, dqueries, dkeys);
}

int64_t attend_block_scratch(const RowShape& shape) {
    return block_limit * (shape.stride() + 4 * lane_count);
}

template void attend_block(const Queue&, const RowShape&, const Block<float>&, float*, float*);
template void attend_block(const Queue&, const RowShape&, const Block<double>&, double*, double*);
template void attend_block_backward(const Queue&, const RowShape&, const Block<float>&,
                                    const float*, float*, float*, float*);
template void attend_block_backward(const Queue&, const RowShape&, const Block<double>&,
                                    const double*, double*, double*, double*);

}  // namespace surrogate::kernels::hept
