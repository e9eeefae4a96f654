// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/dispatch.hpp"
#include "kernels/hept/hept.hpp"
#include "kernels/hept/scratch.hpp"

namespace surrogate::kernels::hept {

template <class T>
void attend_block(const Queue& queue, const RowShape& shape, const Block<T>& block,
                  [[maybe_unused]] T* scratch, T* sums, std::span<const int32_t> to,
                  bool is_added) {
    if (!uses_simd<T>(queue, "attend_block"))
        return ref::attend_block(shape, block, sums, to, is_added);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_block(queue.level(), shape, block, scratch, sums, to, is_added);
}

template <class T>
void attend_block_backward(const Queue& queue, const RowShape& shape, const Block<T>& block,
                           const T* given, [[maybe_unused]] T* scratch, T* dqueries, T* dkeys) {
    if (!uses_simd<T>(queue, "attend_block_backward"))
        return ref::attend_block_backward(shape, block, given, dqueries, dkeys);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_block_backward(queue.level(), shape, block, given, scratch, dqueries, dkeys);
}

int64_t attend_block_scratch(const RowShape& shape) {
    const int64_t key_row = BlockRows{shape}.key_row();
    // Space for the keys of a block and their gradients; for a strip of queries their lanes, rows
    // and gradients, each with at most `given` numbers per query; two weights per pair, 128 keys at
    // a time.
    constexpr int64_t n_strip = 2 * lane_count;
    return 2 * (block_limit + 1) * key_row + n_strip * (3 * (key_row + 1) + 2 * 128);
}

template void attend_block(const Queue&, const RowShape&, const Block<float>&, float*, float*,
                           std::span<const int32_t>, bool);
template void attend_block(const Queue&, const RowShape&, const Block<double>&, double*, double*,
                           std::span<const int32_t>, bool);
template void attend_block_backward(const Queue&, const RowShape&, const Block<float>&,
                                    const float*, float*, float*, float*);
template void attend_block_backward(const Queue&, const RowShape&, const Block<double>&,
                                    const double*, double*, double*, double*);

}  // namespace surrogate::kernels::hept
