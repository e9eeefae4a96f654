// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/activation/activation.hpp"

namespace surrogate::kernels::ref {
namespace {

/// Returns gelu_tanh(u). The argument of tanh is cubic and would overflow for large u; beyond 100
/// tanh is +-1 in every precision.
template <class T>
T gelu_tanh(T u) {
    const T root_two_over_pi = T(0.7978845608028654), cubic = T(0.044715);
    const T c = std::clamp(u, T(-100), T(100));
    return u / 2 * (1 + std::tanh(root_two_over_pi * (c + cubic * c * c * c)));
}

/// Returns gelu(u). erfc keeps the digits of small results for negative u.
template <class T>
T gelu(T u) {
    return u / 2 * std::erfc(-u * T(0.70710678118654752));
}

/// Returns silu(u). Two forms of the same function keep the exponential from overflowing.
template <class T>
T silu(T u) {
    const T e = std::exp(-std::abs(u));
    return u < 0 ? u * e / (1 + e) : u / (1 + e);
}

template <class T>
T value(Activation kind, T u) {
    switch (kind) {
        case Activation::identity: return u;
        case Activation::gelu_tanh: return gelu_tanh(u);
        case Activation::silu: return silu(u);
        case Activation::gelu: return gelu(u);
        case Activation::relu: return u < 0 ? T(0) : u;
        case Activation::tanh: return std::tanh(u);
    }
    return u;
}

/// Returns the derivative of gelu_tanh. Beyond 10, 1 - tanh is below 2^-125. 1 - tanh^2 = 1 /
/// cosh^2 keeps its digits.
template <class T>
T gelu_tanh_slope(T u) {
    const T root_two_over_pi = T(0.7978845608028654), cubic = T(0.044715);
    const T c = std::clamp(u, T(-10), T(10));
    const T z = root_two_over_pi * (c + cubic * c * c * c);
    const T slope = root_two_over_pi * (1 + 3 * cubic * c * c);  // of z
    return (1 + std::tanh(z)) / 2 + c / 2 * slope / (std::cosh(z) * std::cosh(z));
}

/// Returns P(u) + u p(u), with p the normal density; beyond 100, p is 0 in every precision.
template <class T>
T gelu_slope(T u) {
    const T c = std::clamp(u, T(-100), T(100));
    const T density = std::exp(-c * c / 2) * T(0.3989422804014327);  // 1 / sqrt(2 pi)
    return std::erfc(-c * T(0.70710678118654752)) / 2 + c * density;
}

/// Returns s (1 + u (1 - s)) with s = 1 / (1 + exp(-u)).
template <class T>
T silu_slope(T u) {
    const T e = std::exp(-std::abs(u));
    const T s = (u < 0 ? e : T(1)) / (1 + e);
    return s + u * e / ((1 + e) * (1 + e));
}

/// Returns 1 - tanh^2 = 4 e / (1 + e)^2 with e = exp(-2 |u|), which keeps its digits.
template <class T>
T tanh_slope(T u) {
    const T e = std::exp(-2 * std::min(std::abs(u), T(400)));
    return 4 * e / ((1 + e) * (1 + e));
}

template <class T>
T slope(Activation kind, T u) {
    switch (kind) {
        case Activation::identity: return T(1);
        case Activation::gelu_tanh: return gelu_tanh_slope(u);
        case Activation::silu: return silu_slope(u);
        case Activation::gelu: return gelu_slope(u);
        case Activation::relu: return u > 0 ? T(1) : value(kind, u);
        case Activation::tanh: return tanh_slope(u);
    }
    return T(1);
}

}  // namespace

template <class T>
void activate(Activation kind, Tile<const T> x, Tile<T> y) {
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        for (int64_t i = 0; i < x.shape[1]; ++i) y(c, i) = value(kind, x(c, i));
    }
}

template <class T>
void activate_backward(Activation kind, Tile<const T> x, Tile<const T> dy, Tile<T> dx) {
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        for (int64_t i = 0; i < x.shape[1]; ++i) dx(c, i) = dy(c, i) * slope(kind, x(c, i));
    }
}

template void activate(Activation, Tile<const float>, Tile<float>);
template void activate(Activation, Tile<const double>, Tile<double>);
template void activate_backward(Activation, Tile<const float>, Tile<const float>, Tile<float>);
template void activate_backward(Activation, Tile<const double>, Tile<const double>, Tile<double>);

}  // namespace surrogate::kernels::ref
