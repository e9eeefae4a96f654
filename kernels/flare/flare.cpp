// SPDX-License-Identifier: Apache-2.0
#include "kernels/flare/flare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels::flare {
namespace {

/// Returns 2^-|a - b| for finite numbers. Both are halved first, because their difference may
/// overflow.
double power_of_distance(double a, double b) {
    const double half = std::abs(a / 2 - b / 2);
    return half > 1000 ? 0.0 : exp2_exact(-2 * half);
}

/// Resets all heads: row 0 of a head holds maxima, the n_dim + 1 rows after it hold sums. The
/// layout is the same in Partial and Total.
template <class T>
void reset_rows(const Sizes& sizes, T* data) {
    const int64_t n_row = sizes.n_row(), per_head = (sizes.n_dim + 2) * n_row;
    for (int64_t head = 0; head < sizes.n_head; ++head) {
        std::fill_n(data + head * per_head, n_row, lowest_score<T>());
        std::fill_n(data + head * per_head + n_row, per_head - n_row, T(0));
    }
}

/// Joins lane_count latents of one head: `own` and `other` point at their maxima, sums follow every
/// n_row numbers.
template <class T>
void combine_lanes(const T* other, double* own, int64_t n_row, int64_t n_sum) {
    double keep[lane_count], add[lane_count];
    for (int64_t m = 0; m < lane_count; ++m) {
        const double smaller = power_of_distance(own[m], other[m]);
        const bool rises = other[m] > own[m];
        keep[m] = rises ? smaller : 1.0;
        add[m] = rises ? 1.0 : smaller;
        own[m] = rises ? other[m] : own[m];
    }
    for (int64_t r = 1; r <= n_sum; ++r) {
        for (int64_t m = 0; m < lane_count; ++m)
            own[r * n_row + m] = own[r * n_row + m] * keep[m] + other[r * n_row + m] * add[m];
    }
}

template <class T>
void combine_rows(const T* other, Total total) {
    const int64_t n_row = total.sizes.n_row(), n_sum = total.sizes.n_dim + 1;
    const int64_t per_head = (n_sum + 1) * n_row;
    for (int64_t head = 0; head < total.sizes.n_head; ++head) {
        for (int64_t m = 0; m < n_row; m += lane_count)
            combine_lanes(other + head * per_head + m, total.maximum(head) + m, n_row, n_sum);
    }
}

}  // namespace

double exp2_exact(double x) {
    if (!(x >= -1000)) return x != x ? x : 0.0;
    // 2^x = 2^n exp(t), |t| <= ln(2)/2, by Taylor's series; the first omitted term, t^14/14!, is
    // below 5e-18.
    constexpr double inverse_factorial[] = {
        1.0,
        1.0,
        1.0 / 2,
        1.0 / 6,
        1.0 / 24,
        1.0 / 120,
        1.0 / 720,
        1.0 / 5040,
        1.0 / 40320,
        1.0 / 362880,
        1.0 / 3628800,
        1.0 / 39916800,
        1.0 / 479001600,
        1.0 / 6227020800,
    };
    const double magic = 0x1.8p52;  // x + magic rounds x to an integer
    const double n = (x + magic) - magic;
    const double t = (x - n) * 0x1.62e42fefa39efp-1;
    double sum = inverse_factorial[13];
    for (int degree = 12; degree >= 0; --degree) sum = inverse_factorial[degree] + t * sum;
    const uint64_t exponent = static_cast<uint64_t>(static_cast<int64_t>(n) + 1023);
    return sum * std::bit_cast<double>(exponent << 52);
}

double log2_exact(double x) {
    constexpr double two_over_ln_2 = 2.8853900817779268;
    int exponent = 0;
    double m = std::frexp(x, &exponent);  // 1/2 <= m < 1
    if (m < 0.70710678118654752) {
        m *= 2;
        --exponent;
    }
    const double r = (m - 1) / (m + 1), square = r * r;
    double sum = 1.0 / 23;
    for (int odd = 21; odd > 0; odd -= 2) sum = 1.0 / odd + square * sum;
    return exponent + two_over_ln_2 * r * sum;
}

template <class T>
void reset(Partial<T> partial) {
    reset_rows(partial.sizes, partial.data);
}

void reset(Total total) {
    reset_rows(total.sizes, total.data);
}

template <class T>
void combine(Partial<const T> partial, Total total) {
    combine_rows(partial.data, total);
}

void combine(Total other, Total total) {
    combine_rows(other.data, total);
}

template <class T>
void encode(const Queue& queue, const Queries<T>& queries, Tile<const T> k, Tile<const T> v,
            Partial<T> partial, const T* log_weight) {
    if (!uses_simd<T>(queue, "flare::encode"))
        return ref::encode(queries, k, v, partial, log_weight);
    if constexpr (std::is_same_v<T, float>)
        simd::encode(queue.level(), queries, k, v, partial, log_weight);
}

template <class T>
void decode(const Queue& queue, const Queries<T>& queries, Tile<const T> k, const T* z, Tile<T> y) {
    if (!uses_simd<T>(queue, "flare::decode")) return ref::decode(queries, k, z, y);
    if constexpr (std::is_same_v<T, float>) simd::decode(queue.level(), queries, k, z, y);
}

template void reset(Partial<float>);
template void reset(Partial<double>);
template void combine(Partial<const float>, Total);
template void combine(Partial<const double>, Total);
template void encode(const Queue&, const Queries<float>&, Tile<const float>, Tile<const float>,
                     Partial<float>, const float*);
template void encode(const Queue&, const Queries<double>&, Tile<const double>, Tile<const double>,
                     Partial<double>, const double*);
template void decode(const Queue&, const Queries<float>&, Tile<const float>, const float*,
                     Tile<float>);
template void decode(const Queue&, const Queries<double>&, Tile<const double>, const double*,
                     Tile<double>);

}  // namespace surrogate::kernels::flare
