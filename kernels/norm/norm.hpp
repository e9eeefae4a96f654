// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"

namespace surrogate::kernels {

enum class NormKind {
    layer,  ///< (x - mean) / sqrt(var + eps) * weight + bias, biased variance
    rms,    ///< x / sqrt(mean(x^2) + eps) * weight
};

/// Normalisation over channels. weight, bias (n_channel); bias is null for rms. Memory belongs to
/// the caller.
template <class T>
struct Norm {
    NormKind kind = NormKind::layer;
    T eps = T(1e-5);
    const T* weight = nullptr;
    const T* bias = nullptr;
};

/// Each point of x over its channels. x, y (n_channel, n_point) tiles; y may be x itself, no other
/// overlap. Sums over channels run in their order, in float for float: the same bits on every
/// vector level. Source: Ba et al., arXiv:1607.06450; Zhang and Sennrich, arXiv:1910.07467.
template <class T>
void normalise(const Queue& queue, const Norm<T>& norm, Tile<const T> x, Tile<T> y);

namespace ref {
template <class T>
void normalise(const Norm<T>& norm, Tile<const T> x, Tile<T> y);
}
namespace simd {
void normalise(VectorLevel level, const Norm<float>& norm, Tile<const float> x, Tile<float> y);
}

}  // namespace surrogate::kernels
