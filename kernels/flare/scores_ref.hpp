// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/flare/flare.hpp"

/// Shared functions of the reference versions of the mixer's passes, forward and backward.
namespace surrogate::kernels::flare::ref {

/// Returns 2^(a - b) for a <= b. Both are halved first: the difference of two finite scores may
/// overflow.
template <class T>
T power_of_difference(T a, T b) {
    return a / 2 - b / 2 < T(-2000) ? T(0) : std::exp2(a - b);
}

/// Returns S[h,m,i] in base 2; the queries contain the factor s log2(e).
template <class T>
T score(const Queries<T>& queries, Tile<const T> k, int64_t head, int64_t m, int64_t i) {
    const int64_t n_dim = queries.sizes.n_dim;
    const T* q = queries.by_latent + (head * queries.sizes.n_latent + m) * n_dim;  // (D)
    T sum = 0;
    for (int64_t d = 0; d < n_dim; ++d) sum += q[d] * k(head * n_dim + d, i);
    return sum;
}

}  // namespace surrogate::kernels::flare::ref
