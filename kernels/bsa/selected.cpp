// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/dispatch.hpp"
#include "kernels/bsa/bsa.hpp"

namespace surrogate::kernels::bsa {

template <class T>
void attend_blocks(const Queue& queue, const Heads& heads, Tile<const T> q,
                   const ChosenBlocks<const T>& chosen, T* scratch, Tile<T> y, Tile<T> log_sum) {
    if (!uses_simd<T>(queue, "attend_blocks"))
        return ref::attend_blocks(heads, q, chosen, scratch, y, log_sum);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_blocks(queue.level(), heads, q, chosen, scratch, y, log_sum);
}

template <class T>
void attend_blocks_backward(const Queue& queue, const Heads& heads, HeadRange range,
                            const AttendGradient<T>& of, const ChosenBlocks<const T>& chosen,
                            std::span<const KeyBlock<T>> gradients, T* scratch, Tile<T> dq) {
    if (!uses_simd<T>(queue, "attend_blocks_backward"))
        return ref::attend_blocks_backward(heads, range, of, chosen, gradients, scratch, dq);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_blocks_backward(queue.level(), heads, range, of, chosen, gradients, scratch,
                                     dq);
}

int64_t attend_blocks_scratch(const Heads& heads, int64_t l, int64_t n_choice) {
    // Space for keys, values and their gradients, and for the scores of 8 queries and their
    // gradients.
    const int64_t n_packed = round_up(heads.n_key_dim, 8) + round_up(heads.n_value_dim, 8);
    return (2 * n_packed + 2 * 8) * round_up(l * n_choice, lane_count);
}

template void attend_blocks(const Queue&, const Heads&, Tile<const float>,
                            const ChosenBlocks<const float>&, float*, Tile<float>, Tile<float>);
template void attend_blocks(const Queue&, const Heads&, Tile<const double>,
                            const ChosenBlocks<const double>&, double*, Tile<double>, Tile<double>);
template void attend_blocks_backward(const Queue&, const Heads&, HeadRange,
                                     const AttendGradient<float>&, const ChosenBlocks<const float>&,
                                     std::span<const KeyBlock<float>>, float*, Tile<float>);
template void attend_blocks_backward(const Queue&, const Heads&, HeadRange,
                                     const AttendGradient<double>&,
                                     const ChosenBlocks<const double>&,
                                     std::span<const KeyBlock<double>>, double*, Tile<double>);

}  // namespace surrogate::kernels::bsa
