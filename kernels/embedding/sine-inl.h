// SPDX-License-Identifier: Apache-2.0
// Sine and cosine of one vector. This file is compiled once per SIMD instruction set.
#if defined(SURROGATE_SINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_SINE_INL_H_
#undef SURROGATE_SINE_INL_H_
#else
#define SURROGATE_SINE_INL_H_
#endif

#include <cmath>

#include "kernels/base/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {

/// Largest angle for which the reduction below has an error of at most 1e-7.
constexpr float largest_quick_angle = 1e4f;

/// Returns r = a - n pi/2 with n the nearest integer. A large constant is added that leaves n in
/// the low bits. pi/2 = high + low + 3e-15, and n < 2^13: n high is not rounded (fused), the first
/// difference is exact or rounded as a number below 1, and so is the second: error 2^-25 + 2e-11
/// (Cody and Waite).
HWY_INLINE Vector reduce_angle(Vector a, Vector& shifted) {
    const Vector magic = broadcast(0x1.8p23f);
    shifted = mul_add(a, broadcast(0.6366197467f), magic);
    const Vector n = hn::Sub(shifted, magic);
    const Vector r = mul_add(n, broadcast(-0x1.921fb6p0f), a);
    return mul_add(n, broadcast(0x1.777a5cp-25f), r);
}

/// Computes cos(a) and sin(a) for |a| <= largest_quick_angle, error at most 1e-7. Minimax
/// polynomials of the quarter turn (1.8e-9 and 5.5e-11, by Lawson's iteration on 4001 Chebyshev
/// points).
HWY_INLINE void quick_cos_sin(Vector a, Vector& cos, Vector& sin) {
    Vector shifted;
    const Vector r = reduce_angle(a, shifted), z = hn::Mul(r, r);
    Vector s = broadcast(-1.949426363e-04f);
    s = mul_add(s, z, broadcast(8.331967853e-03f));
    s = mul_add(s, z, broadcast(-1.666665048e-01f));
    s = mul_add(hn::Mul(r, z), s, r);
    Vector c = broadcast(2.438881715e-05f);
    c = mul_add(c, z, broadcast(-1.388674683e-03f));
    c = mul_add(c, z, broadcast(4.166662280e-02f));
    c = mul_add(c, z, broadcast(-4.999999972e-01f));
    c = mul_add(c, z, broadcast(1.0f));
    // Quarter n & 3: odd quarters exchange sine and cosine, 1 and 2 change the sign of cos, 2 and 3
    // the sign of sin.
    const auto one = hn::Set(Bits(), 1u), two = hn::Set(Bits(), 2u);
    const auto n = hn::BitCast(Bits(), shifted);
    const auto is_odd =
        hn::MaskFromVec(hn::BitCast(Tag(), hn::Sub(hn::Zero(Bits()), hn::And(n, one))));
    const auto sin_sign = hn::ShiftLeft<30>(hn::And(n, two));
    const auto cos_sign = hn::ShiftLeft<30>(hn::And(hn::Add(n, one), two));
    cos = hn::Xor(hn::IfThenElse(is_odd, s, c), hn::BitCast(Tag(), cos_sign));
    sin = hn::Xor(hn::IfThenElse(is_odd, c, s), hn::BitCast(Tag(), sin_sign));
}

/// Computes cos(a) and sin(a) for any a. Lanes out of range call libm in double, which reduces
/// exactly; the other lanes are unchanged. NaN gives NaN.
HWY_INLINE void cos_sin(Vector a, Vector& cos, Vector& sin) {
    const auto is_large = hn::Gt(hn::Abs(a), broadcast(largest_quick_angle));
    if (HWY_LIKELY(hn::AllFalse(Tag(), is_large))) return quick_cos_sin(a, cos, sin);
    quick_cos_sin(hn::IfThenElse(is_large, broadcast(0.0f), a), cos, sin);
    alignas(64) float angle[width], slow_cos[width], slow_sin[width];
    store(a, angle);
    store(cos, slow_cos);
    store(sin, slow_sin);
    for (int64_t l = 0; l < width; ++l) {
        if (!(std::abs(angle[l]) > largest_quick_angle)) continue;
        slow_cos[l] = static_cast<float>(std::cos(static_cast<double>(angle[l])));
        slow_sin[l] = static_cast<float>(std::sin(static_cast<double>(angle[l])));
    }
    cos = load(slow_cos);
    sin = load(slow_sin);
}

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
