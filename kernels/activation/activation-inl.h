// SPDX-License-Identifier: Apache-2.0
// Activations of one vector, compiled once per vector level.
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

/// u / (1 + exp(-2 t)) is u/2 (1 + tanh(t)). The argument of tanh is clamped at |u| = 10, where 1 + tanh is 2 or 1e-38:
/// the exponent stays within +-125.97 and nothing overflows, while u itself is never clamped.
HWY_INLINE Vector gelu_tanh(Vector u) {
    const Vector c = at_least(broadcast(-10.0f), at_most(broadcast(10.0f), u));
    const float linear = -2.302208198f,
                cubic = -0.1029432397f;  // -2 log2(e) sqrt(2/pi) (1, 0.044715)
    const Vector t = hn::Mul(c, mul_add(hn::Mul(c, c), broadcast(cubic), broadcast(linear)));
    return hn::Div(u, hn::Add(broadcast(1.0f), power_of_two(t)));
}

/// u / (1 + exp(-u)); clamped at |u| = 87, where the exponent is +-125.5.
HWY_INLINE Vector silu(Vector u) {
    const Vector c = at_least(broadcast(-87.0f), at_most(broadcast(87.0f), u));
    const float log2_e = 1.442695041f;
    return hn::Div(u, hn::Add(broadcast(1.0f), power_of_two(hn::Mul(c, broadcast(-log2_e)))));
}

template <Activation kind>
HWY_INLINE Vector activated(Vector u) {
    if constexpr (kind == Activation::gelu_tanh) return gelu_tanh(u);
    if constexpr (kind == Activation::silu) return silu(u);
    return u;
}

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
