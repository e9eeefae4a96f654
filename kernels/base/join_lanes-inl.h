// SPDX-License-Identifier: Apache-2.0
// Sums over the lane_count lanes of many channels at once. This file is compiled once per SIMD
// instruction set. The order of the sums is the same at every width: with block b the lanes 4b ..
// 4b + 3,
//   s_b = (x_0 + x_2) + (x_1 + x_3) in the block,   sum = (s_0 + s_2) + (s_1 + s_3)
#if defined(SURROGATE_JOIN_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_JOIN_LANES_INL_H_
#undef SURROGATE_JOIN_LANES_INL_H_
#else
#define SURROGATE_JOIN_LANES_INL_H_
#endif

#include "kernels/base/vector-inl.h"
#include "kernels/base/view.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

/// Number of vectors that hold lane_count lanes.
constexpr int n_part = static_cast<int>(lane_count / width);
struct Lanes {
    Vector part[n_part];
};

HWY_INLINE float join_lanes(const float* x) {
    float block[4];
    for (int b = 0; b < 4; ++b)
        block[b] = (x[4 * b] + x[4 * b + 2]) + (x[4 * b + 1] + x[4 * b + 3]);
    return (block[0] + block[2]) + (block[1] + block[3]);
}

HWY_INLINE float join_lanes(const Lanes& x) {
    alignas(64) float lane[lane_count];
    for (int j = 0; j < n_part; ++j) store(x.part[j], lane + j * width);
    return join_lanes(lane);
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_NEON

/// Writes the sum of the lanes of channel c to sums[c], for lane_count channels; lanes(c) returns
/// the lanes.
template <class LanesOf>
HWY_INLINE void join_channels(const LanesOf& lanes, float* sums) {
    for (int64_t c = 0; c < lane_count; ++c) sums[c] = join_lanes(lanes(c));
}

#else

/// Sums the blocks of four channels: lane c of each block is channel c.
HWY_INLINE Vector join_blocks(Vector a, Vector b, Vector c, Vector d) {
    const hn::Repartition<uint64_t, Tag> pairs;
    const Tag tag;
    const Vector ab = hn::Add(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b));
    const Vector cd = hn::Add(hn::InterleaveLower(tag, c, d), hn::InterleaveUpper(tag, c, d));
    const auto first = hn::BitCast(pairs, ab), second = hn::BitCast(pairs, cd);
    return hn::Add(hn::BitCast(tag, hn::InterleaveLower(pairs, first, second)),
                   hn::BitCast(tag, hn::InterleaveUpper(pairs, first, second)));
}

/// Adds the lower and the upper half of each vector: x gives the lower half of the result, y the
/// upper half.
HWY_INLINE Vector join_halves(Vector x, Vector y) {
    return hn::Add(hn::ConcatLowerLower(Tag(), y, x), hn::ConcatUpperUpper(Tag(), y, x));
}

/// Returns four channels from c on; blocks b and b + 2 are added where one vector does not hold
/// both.
template <class LanesOf>
HWY_INLINE Vector join_four(const LanesOf& lanes, int64_t c) {
    const Lanes x[4] = {lanes(c), lanes(c + 1), lanes(c + 2), lanes(c + 3)};
    Vector sum = join_blocks(x[0].part[0], x[1].part[0], x[2].part[0], x[3].part[0]);
    if constexpr (n_part == 2) {
        constexpr int j = n_part - 1;
        sum = hn::Add(sum, join_blocks(x[0].part[j], x[1].part[j], x[2].part[j], x[3].part[j]));
    }
    return sum;
}

/// Writes the sum of the lanes of channel c to sums[c], for lane_count channels; lanes(c) returns
/// the lanes.
template <class LanesOf>
HWY_INLINE void join_channels(const LanesOf& lanes, float* sums) {
    if constexpr (n_part == 2) {
        for (int64_t c = 0; c < lane_count; c += width)
            store(join_halves(join_four(lanes, c), join_four(lanes, c + 4)), sums + c);
    } else {
        const Vector even = join_halves(join_four(lanes, 0), join_four(lanes, 8));
        const Vector odd = join_halves(join_four(lanes, 4), join_four(lanes, 12));
        // Blocks (s_0 + s_2, s_1 + s_3) of channels 0 and 8, of channels 4 and 12.
        store(hn::Add(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd), even),
                      hn::OddEvenBlocks(odd, hn::SwapAdjacentBlocks(even))),
              sums);
    }
}

#endif

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
