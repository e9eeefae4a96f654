// SPDX-License-Identifier: Apache-2.0
// Vector helpers. This file is compiled once per SIMD instruction set. Every function does the same
// operations in the same order on each lane on each instruction set, so that results are bitwise
// identical at every width: there is no reassociation and no reduction over lanes.
#if defined(SURROGATE_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_VECTOR_INL_H_
#undef SURROGATE_VECTOR_INL_H_
#else
#define SURROGATE_VECTOR_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/base/processor.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Bits = hn::RebindToUnsigned<Tag>;
using Vector = hn::Vec<Tag>;
constexpr int64_t width = static_cast<int64_t>(HWY_LANES(float));

HWY_INLINE Vector load(const float* p) {
    return hn::LoadU(Tag(), p);
}
HWY_INLINE void store(Vector v, float* p) {
    hn::StoreU(v, Tag(), p);
}
HWY_INLINE Vector broadcast(float x) {
    return hn::Set(Tag(), x);
}

/// Returns a * b + c, rounded once on every instruction set.
HWY_INLINE Vector mul_add(Vector a, Vector b, Vector c) {
#if HWY_TARGET == HWY_SCALAR
    return Vector(std::fma(a.raw, b.raw, c.raw));
#else
    return hn::MulAdd(a, b, c);
#endif
}

/// Returns limit > x ? limit : x. A NaN in x stays: the x86 instruction returns its second operand
/// if one is NaN, or if both are zeros; the instruction of arm64 chooses the sign of the zero.
HWY_INLINE Vector at_least(Vector limit, Vector x) {
#if HWY_TARGET == HWY_SCALAR
    return Vector(limit.raw > x.raw ? limit.raw : x.raw);
#elif HWY_ARCH_ARM
    return hn::IfThenElse(hn::Gt(limit, x), limit, x);
#else
    return hn::Max(limit, x);
#endif
}

/// Returns limit < x ? limit : x. A NaN in x stays.
HWY_INLINE Vector at_most(Vector limit, Vector x) {
#if HWY_TARGET == HWY_SCALAR
    return Vector(limit.raw < x.raw ? limit.raw : x.raw);
#elif HWY_ARCH_ARM
    return hn::IfThenElse(hn::Lt(limit, x), limit, x);
#else
    return hn::Min(limit, x);
#endif
}

/// Smallest argument of power_of_two(): 2^-125, so that rounding of the argument leaves normal
/// numbers.
constexpr float lowest_power = -125;

/// Ways to take the integer part of an exponent off and to apply it: by integer operations, on
/// every instruction set, or by two instructions of AVX-512, which save two of ten operations
/// where they are fast (has_fast_scaling()). Results are bitwise identical.
enum class Powers { by_integers, by_scaling };

/// Calls body(way) with the faster way on this processor; `way` is a constant of the compiler.
template <class Body>
HWY_INLINE void with_fast_powers(const Body& body) {
#if HWY_TARGET == HWY_AVX3
    if (has_fast_scaling()) return body(std::integral_constant<Powers, Powers::by_scaling>());
#endif
    body(std::integral_constant<Powers, Powers::by_integers>());
}

#if HWY_TARGET == HWY_AVX3
/// Replaces x by x - n and returns n, the nearest integer.
HWY_INLINE Vector take_integer(Vector& x) {
    const Vector whole = x;
    x = Vector{_mm512_reduce_ps(x.raw, 0)};
    return hn::Sub(whole, x);
}
HWY_INLINE Vector scaled(Vector x, Vector exponent) {
    return Vector{_mm512_scalef_ps(x.raw, exponent.raw)};
}
#endif

/// Computes 2^x for -126 <= x <= 127; relative error at most 1.8e-7, exactly 1 at 0. The result is
/// arbitrary outside this range and for most NaNs. x = m + f with m the nearest integer; minimax
/// polynomial of degree 5 in f with constant term 1 (error 9.2e-8, by Lawson's iteration on 4001
/// Chebyshev points); m is added to the exponent. Each step is applied to n vectors before the next
/// step: with one vector every operation waits for the previous one, and the processor's window
/// holds too few vectors to fill the gaps.
template <Powers way = Powers::by_integers, int n>
HWY_INLINE void powers_of_two(Vector (&x)[n]) {
    const Vector magic = broadcast(0x1.8p23f);  // x + magic rounds x and leaves m in the low bits
    Vector m[n], p[n];                          // m: by integers, the sum with magic
    const auto add_term = [&](float coefficient) HWY_ATTR {
#pragma GCC unroll 8
        for (int j = 0; j < n; ++j) p[j] = mul_add(p[j], x[j], broadcast(coefficient));
    };
    if constexpr (way == Powers::by_scaling) {
#pragma GCC unroll 8
        for (int j = 0; j < n; ++j) m[j] = take_integer(x[j]);
    } else {
#pragma GCC unroll 8
        for (int j = 0; j < n; ++j) m[j] = hn::Add(x[j], magic);
#pragma GCC unroll 8
        for (int j = 0; j < n; ++j) x[j] = hn::Sub(x[j], hn::Sub(m[j], magic));
    }
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) p[j] = broadcast(0x1.5bba14p-10f);
    add_term(0x1.3cea88p-7f);
    add_term(0x1.c6b752p-5f);
    add_term(0x1.ebf9bcp-3f);
    add_term(0x1.62e42ap-1f);
    add_term(1.0f);
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) {
        if constexpr (way == Powers::by_scaling) {
            x[j] = scaled(p[j], m[j]);
        } else {
            const auto exponent = hn::ShiftLeft<23>(hn::BitCast(Bits(), m[j]));
            x[j] = hn::BitCast(Tag(), hn::Add(hn::BitCast(Bits(), p[j]), exponent));
        }
    }
}

HWY_INLINE Vector power_of_two(Vector x) {
    Vector one[1] = {x};
    powers_of_two(one);
    return one[0];
}

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
