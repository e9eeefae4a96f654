// SPDX-License-Identifier: Apache-2.0
// Transposition of four columns with as many rows as a vector has lanes. This file is compiled once
// per SIMD instruction set.
#if defined(SURROGATE_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_TRANSPOSE_INL_H_
#undef SURROGATE_TRANSPOSE_INL_H_
#else
#define SURROGATE_TRANSPOSE_INL_H_
#endif

#include "kernels/base/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// Loads four columns of n / 4 rows: block b of the result is row 4 b of `from`.
template <int64_t n>
HWY_INLINE auto load_blocks(const float* from, int64_t row) {
    if constexpr (n == 4) {
        return hn::LoadU(hn::FixedTag<float, 4>(), from);
    } else {
        return hn::Combine(hn::FixedTag<float, n>(), load_blocks<n / 2>(from + n / 2 * row, row),
                           load_blocks<n / 2>(from, row));
    }
}

/// Transposes rows r, r + 4, .. of four columns in blocks, for r = 0, .., 3, into columns: lane i
/// of column[j] is row i.
HWY_INLINE void transpose_blocks(const Vector (&blocks)[4], Vector (&column)[4]) {
    const auto& [a, b, c, d] = blocks;
    const Vector even = hn::InterleaveLower(a, c), odd = hn::InterleaveLower(b, d);
    const Vector next_even = hn::InterleaveUpper(Tag(), a, c),
                 next_odd = hn::InterleaveUpper(Tag(), b, d);
    column[0] = hn::InterleaveLower(even, odd);
    column[1] = hn::InterleaveUpper(Tag(), even, odd);
    column[2] = hn::InterleaveLower(next_even, next_odd);
    column[3] = hn::InterleaveUpper(Tag(), next_even, next_odd);
}

#endif

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
