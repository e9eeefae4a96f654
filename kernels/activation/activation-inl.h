// SPDX-License-Identifier: Apache-2.0
// Activations of one vector. This file is compiled once per SIMD instruction set.
#if defined(SURROGATE_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_ACTIVATION_INL_H_
#undef SURROGATE_ACTIVATION_INL_H_
#else
#define SURROGATE_ACTIVATION_INL_H_
#endif

#include "kernels/activation/activation.hpp"
#include "kernels/base/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {

// GELU and SiLU are u / (1 + 2^t) with t a clamped function of u. Each step is applied to n vectors
// before the next step.

/// Returns t of u / (1 + exp(-2 z)), which is u/2 (1 + tanh(z)). The argument of tanh is clamped at
/// |u| = 10, where 1 + tanh is 2 or 1e-38. The exponent stays within +-125.97 and does not
/// overflow; u itself is never clamped.
HWY_INLINE Vector gelu_tanh_exponent(Vector u) {
    const Vector c = at_least(broadcast(-10.0f), at_most(broadcast(10.0f), u));
    const float linear = -2.302208198f,
                cubic = -0.1029432397f;  // -2 log2(e) sqrt(2/pi) (1, 0.044715)
    return hn::Mul(c, mul_add(hn::Mul(c, c), broadcast(cubic), broadcast(linear)));
}

/// Returns t of u P(u), with P the normal distribution function: u P(u) is u / (1 + (1 - P) / P).
/// The exponent is u p(u^2) with p of degree 6, minimax for the error of P on |u| <= 6 (3e-8, by
/// Lawson's iteration on 4001 Chebyshev points). Beyond 6 it decreases further, to 2^-117 at the
/// clamp |u| = 7.
HWY_INLINE Vector gelu_exponent(Vector u) {
    const float term[] = {-2.302209296f,     -0.1048351219f,   9.404922923e-05f, 1.595799393e-04f,
                          -1.143983371e-05f, 3.816312962e-07f, -5.067236995e-09f};
    const Vector c = at_least(broadcast(-7.0f), at_most(broadcast(7.0f), u));
    const Vector square = hn::Mul(c, c);
    Vector p = broadcast(term[6]);
#pragma GCC unroll 6
    for (int i = 5; i >= 0; --i) p = mul_add(p, square, broadcast(term[i]));
    return hn::Mul(c, p);
}

/// Returns t of u / (1 + exp(-u)); clamped at |u| = 87, where the exponent is +-125.5.
HWY_INLINE Vector silu_exponent(Vector u) {
    const float log2_e = 1.442695041f;
    const Vector c = at_least(broadcast(-87.0f), at_most(broadcast(87.0f), u));
    return hn::Mul(c, broadcast(-log2_e));
}

template <Activation kind>
HWY_INLINE Vector activation_exponent(Vector u) {
    if constexpr (kind == Activation::gelu_tanh) return gelu_tanh_exponent(u);
    if constexpr (kind == Activation::gelu) return gelu_exponent(u);
    return silu_exponent(u);
}

/// Holds e = exp(-2 |u|) in two parts: e = scale (1 + part), where scale is a power of two and
/// |part| <= 0.415. Both e - 1 near u = 0 and e far from it keep all digits. |u| is clamped at
/// `limit` <= 43, where scale is 2^-124. A NaN is kept in part.
struct ExponentialParts {
    Vector scale, part;
};

/// Computes both parts. With x = -2 log2(e) |u| = m + f, m the nearest integer, scale is 2^m and
/// part is 2^f - 1 = f q(f). The polynomial q of degree 5 has a relative error of 2.1e-8 (by
/// Lawson's iteration on 4001 Chebyshev points).
HWY_INLINE ExponentialParts exponential_parts(Vector u, float limit) {
    const float minus_two_log2_e = -2.885390082f;
    const float term[] = {0x1.62e430p-1f, 0x1.ebfbdep-3f,  0x1.c6af6ep-5f,
                          0x1.3b2ba0p-7f, 0x1.5f07b4p-10f, 0x1.4308fap-13f};
    const Vector magic = broadcast(0x1.8p23f);  // x + magic rounds x and leaves m in the low bits
    const Vector x = hn::Mul(at_most(broadcast(limit), hn::Abs(u)), broadcast(minus_two_log2_e));
    const Vector shifted = hn::Add(x, magic);
    const Vector f = hn::Sub(x, hn::Sub(shifted, magic));
    Vector q = broadcast(term[5]);
#pragma GCC unroll 5
    for (int i = 4; i >= 0; --i) q = mul_add(q, f, broadcast(term[i]));
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(Bits(), shifted));
    const auto one = hn::BitCast(Bits(), broadcast(1.0f));
    return {hn::BitCast(Tag(), hn::Add(one, exponent)), hn::Mul(f, q)};
}

/// Returns tanh(|u|) = (1 - e) / (1 + e) with the sign of u; 1 in single precision from |u| = 10
/// on.
HWY_INLINE Vector tanh_vector(Vector u) {
    const auto [scale, part] = exponential_parts(u, 10.0f);
    const Vector less = mul_add(part, scale, hn::Sub(scale, broadcast(1.0f)));  // e - 1
    const Vector ratio = hn::Div(less, hn::Add(broadcast(2.0f), less));
    return hn::CopySign(ratio, u);
}

/// Returns 1 - tanh^2 = 4 e / (1 + e)^2.
HWY_INLINE Vector tanh_slope(Vector u) {
    const auto [scale, part] = exponential_parts(u, 43.0f);
    const Vector e = mul_add(part, scale, scale);
    const Vector s = hn::Div(broadcast(2.0f), hn::Add(broadcast(1.0f), e));
    return hn::Mul(s, hn::Mul(s, e));
}

template <Activation kind, Powers way = Powers::by_integers, int n>
HWY_INLINE void activate_vectors(Vector (&u)[n]) {
    if constexpr (kind == Activation::identity) return;
    if constexpr (kind == Activation::tanh) {
#pragma GCC unroll 16
        for (int j = 0; j < n; ++j) u[j] = tanh_vector(u[j]);
        return;
    }
    if constexpr (kind == Activation::relu) {
#pragma GCC unroll 16
        for (int j = 0; j < n; ++j) u[j] = at_least(broadcast(0.0f), u[j]);
        return;
    }
    Vector power[n];
#pragma GCC unroll 16
    for (int j = 0; j < n; ++j) power[j] = activation_exponent<kind>(u[j]);
    powers_of_two<way>(power);
#pragma GCC unroll 16
    for (int j = 0; j < n; ++j) u[j] = hn::Div(u[j], hn::Add(broadcast(1.0f), power[j]));
}

// Derivatives. With s = 1 / (1 + 2^t), f = u s and f' = s + u s'. For tanh GELU and SiLU, s is the
// logistic function of some z(u), and s' = z' s 2^t s, where 2^t s is 1 - s with all its digits.

/// Returns z' u of tanh GELU at the clamped argument c.
HWY_INLINE Vector gelu_tanh_growth(Vector c) {
    const float linear = 1.595769122f, cubic = 0.2140644488f;  // 2 sqrt(2/pi) (1, 3 * 0.044715)
    return hn::Mul(c, mul_add(hn::Mul(c, c), broadcast(cubic), broadcast(linear)));
}

/// Replaces n arguments by the derivatives of tanh GELU or SiLU.
template <Activation kind, int n>
HWY_INLINE void logistic_slopes(Vector (&u)[n]) {
    constexpr float limit = kind == Activation::silu ? 87.0f : 10.0f;  // as in the exponents
    const Vector one = broadcast(1.0f);
    Vector power[n];
#pragma GCC unroll 16
    for (int j = 0; j < n; ++j) power[j] = activation_exponent<kind>(u[j]);
    powers_of_two(power);
#pragma GCC unroll 16
    for (int j = 0; j < n; ++j) {
        const Vector c = at_least(broadcast(-limit), at_most(broadcast(limit), u[j]));
        const Vector growth = kind == Activation::silu ? c : gelu_tanh_growth(c);
        const Vector s = hn::Div(one, hn::Add(one, power[j]));
        u[j] = hn::Mul(s, mul_add(growth, hn::Mul(power[j], s), one));
    }
}

/// Replaces n arguments by P(u) + u p(u), with p = exp(-u^2/2) / sqrt(2 pi) the derivative of P
/// itself; the derivative of the approximation of P would be less exact. Clamped at |u| = 13, where
/// p is 2^-123.
template <int n>
HWY_INLINE void gelu_slopes(Vector (&u)[n]) {
    const float half_log2_e = 0.7213475204f, inverse_root = 0.3989422804f;  // 1 / sqrt(2 pi)
    const Vector one = broadcast(1.0f);
    Vector power[n], density[n];
#pragma GCC unroll 16
    for (int j = 0; j < n; ++j) {
        power[j] = gelu_exponent(u[j]);
        u[j] = at_least(broadcast(-13.0f), at_most(broadcast(13.0f), u[j]));
        density[j] = hn::Mul(hn::Mul(u[j], u[j]), broadcast(-half_log2_e));
    }
    powers_of_two(power);
    powers_of_two(density);
#pragma GCC unroll 16
    for (int j = 0; j < n; ++j) {
        const Vector scaled = hn::Mul(u[j], broadcast(inverse_root));
        u[j] = mul_add(scaled, density[j], hn::Div(one, hn::Add(one, power[j])));
    }
}

/// Replaces n arguments by the derivatives f'. A NaN stays NaN, except for identity.
template <Activation kind, int n>
HWY_INLINE void activation_slopes(Vector (&u)[n]) {
    const Vector zero = broadcast(0.0f), one = broadcast(1.0f);
    if constexpr (kind == Activation::identity || kind == Activation::relu) {
#pragma GCC unroll 16
        for (int j = 0; j < n; ++j)
            u[j] = kind == Activation::identity
                       ? one
                       : hn::IfThenElse(hn::Gt(u[j], zero), one, at_least(zero, u[j]));
    } else if constexpr (kind == Activation::gelu) {
        gelu_slopes(u);
    } else if constexpr (kind == Activation::tanh) {
#pragma GCC unroll 16
        for (int j = 0; j < n; ++j) u[j] = tanh_slope(u[j]);
    } else {
        logistic_slopes<kind>(u);
    }
}

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
