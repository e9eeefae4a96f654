// SPDX-License-Identifier: Apache-2.0
// Sums over the lanes of 8 rows at once. This file is compiled once per SIMD instruction set.
#if defined(SURROGATE_JOIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_JOIN_INL_H_
#undef SURROGATE_JOIN_INL_H_
#else
#define SURROGATE_JOIN_INL_H_
#endif

#include "kernels/base/vector-inl.h"
#include "kernels/base/view.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {

/// Number of vectors of this instruction set that hold lane_count lanes.
constexpr int n_part = static_cast<int>(lane_count / width);

/// Number of rows that are joined together.
constexpr int n_joined = 8;

#if HWY_TARGET != HWY_SCALAR
using Pairs = hn::Repartition<double, Tag>;  // moves two floats as one

/// Selects from blocks of four lanes of rows a and b: lanes 0 and 1 of both (lower), lanes 2 and 3
/// of both (upper).
HWY_INLINE Vector lower_pairs(Vector a, Vector b) {
    const Pairs pairs;
    return hn::BitCast(Tag(),
                       hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
}
HWY_INLINE Vector upper_pairs(Vector a, Vector b) {
    const Pairs pairs;
    return hn::BitCast(Tag(),
                       hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
}

/// Adds the halves of two rows: the result has half as many lanes of each row, side by side.
HWY_INLINE Vector join_halves(Vector a, Vector b) {
    return hn::Add(hn::ConcatLowerLower(Tag(), b, a), hn::ConcatUpperUpper(Tag(), b, a));
}
#endif

/// Returns the index at which join_rows() stores the sum of row r; the shuffles leave this order,
/// and it is not sorted.
HWY_INLINE int joined_place(int64_t r) {
    constexpr int place[3][n_joined] = {
        {0, 1, 2, 3, 4, 5, 6, 7}, {0, 4, 8, 12, 2, 6, 10, 14}, {0, 8, 4, 12, 2, 10, 6, 14}};
    return place[width == 16 ? 2 : width == 8 ? 1 : 0][r];
}

/// Writes factor times the sum of the lanes of row r to sums[joined_place(r)] of lane_count
/// elements. Lane l adds l + 8, then l + 4, l + 2 and l + 1, as PointSum::join().
HWY_INLINE void join_rows(const Vector (&row)[n_joined][n_part], float factor, float* sums) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_NEON
    for (int r = 0; r < n_joined; ++r) {
        float lane[lane_count];
        for (int j = 0; j < n_part; ++j) store(row[r][j], lane + j * width);
        for (int64_t n = lane_count / 2; n > 0; n /= 2) {
            for (int64_t l = 0; l < n; ++l) lane[l] += lane[l + n];
        }
        sums[r] = factor * lane[0];
    }
#else
    Vector four[4];  // 4 lanes of each row
    if constexpr (width == 16) {
        Vector eight[4];
        for (int r = 0; r < 4; ++r) eight[r] = join_halves(row[2 * r][0], row[2 * r + 1][0]);
        // Blocks (a0 a1 b0 b1) and (c0 c1 d0 d1) become (a c b d), 4 lanes of each.
        for (int r = 0; r < 2; ++r) {
            const Vector ab = hn::Add(eight[2 * r], hn::SwapAdjacentBlocks(eight[2 * r]));
            const Vector cd = hn::Add(eight[2 * r + 1], hn::SwapAdjacentBlocks(eight[2 * r + 1]));
            four[r] = hn::OddEvenBlocks(cd, ab);
        }
    } else {
        Vector eight[8];
        for (int r = 0; r < 8; ++r) eight[r] = hn::Add(row[r][0], row[r][n_part - 1]);
        for (int r = 0; r < 4; ++r) four[r] = join_halves(eight[2 * r], eight[2 * r + 1]);
    }
    // Blocks of rows a and e become (a e), 2 lanes of each, and then their sums in lanes 0 and 2.
    for (int j = 0; j < n_part; ++j) {
        const Vector a = four[j], e = four[j + n_part];
        const Vector two = hn::Add(lower_pairs(a, e), upper_pairs(a, e));
        const Vector one = hn::Add(two, hn::Shuffle2301(two));
        store(hn::Mul(one, broadcast(factor)), sums + j * width);
    }
#endif
}

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
