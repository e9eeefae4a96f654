// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"

/// The mixer of FLARE. N points send values to M latents (softmax over points) and read them back
/// (softmax over latents), with the same scores S[h,m,n] = s <q[h,m], k[h,n]>. Neither S nor any
/// other N x M array is stored. Source: arXiv:2508.12594; formulas, numerics and measurements in
/// flare.md.
namespace surrogate::kernels::flare {

/// Sizes of a mixer: H heads of D channels each, M latents. Head h owns channels h*D .. (h+1)*D - 1
/// of a tile. Latent arrays are padded to n_row = round_up(M, lane_count); the padding is never
/// read as a result.
struct Sizes {
    int64_t n_head = 0;    ///< H
    int64_t n_latent = 0;  ///< M
    int64_t n_dim = 0;     ///< D

    int64_t n_row() const { return round_up(n_latent, lane_count); }
    constexpr int64_t n_channel() const { return n_head * n_dim; }
};

/// Points of a partial sum: float sums stay accurate up to this number. In the reproducible mode
/// every chunk except the last has exactly this size. Host and device must use equal chunks to give
/// equal sums.
constexpr int64_t chunk_points = 1024;

/// Queries of one block in the two orders that the passes read, multiplied by s * log2(e): scores
/// are in base 2, so that every exponential is a power of two.
///   by_latent (H, M, D)      for decode
///   by_dim    (H, D, n_row)  for encode; padding is zero
template <class T>
struct Queries {
    Sizes sizes;
    const T* by_latent = nullptr;
    const T* by_dim = nullptr;
};

/// Running softmax over points. Sums are relative to the maximum so far. With S in base 2:
///
///   maximum[h,m] = max_n S
///   sum[h,m]     = sum_n 2^(S - maximum)
///   value[h,d,m] = sum_n 2^(S - maximum) v[h,d,n]
///
/// Points with weights w have the scores S + log2 w here, so that they count w times.
///
/// Uses one block of memory (H, D + 2, n_row): row 0 of a head is the maximum, row 1 the sum, rows
/// 2.. the values, so that partials of many chunks fit in one array. Zero points: maximum =
/// lowest_score(), sums 0.
template <class T>
struct Partial {
    Sizes sizes;
    T* data = nullptr;

    static int64_t size(const Sizes& s) { return s.n_head * (s.n_dim + 2) * s.n_row(); }
    T* maximum(int64_t head) const { return data + head * (sizes.n_dim + 2) * sizes.n_row(); }
    T* sum(int64_t head) const { return maximum(head) + sizes.n_row(); }
    T* value(int64_t head, int64_t dim) const { return maximum(head) + (2 + dim) * sizes.n_row(); }
};

/// Returns the score that means "no point yet": below every score, and 1/16 above the most negative
/// number, so that no difference of maxima is inf - inf.
template <class T>
constexpr T lowest_score() {
    if constexpr (sizeof(T) == sizeof(float)) {
        return -0x1.ep127F;
    } else {
        return -0x1.ep1023;
    }
}

/// Initializes a partial over no points.
template <class T>
void reset(Partial<T> partial);

/// Adds the points of a tile: k, v (C, n_point) tiles, C = H*D. Keeps the running maximum. Any
/// split of the points into calls gives the same sum in another order. Combine after chunk_points.
/// log_weight (n_point): log2 of the weights of the points; null: 0, bitwise identical to
/// zeros. Points of weight 0 must be left out.
template <class T>
void encode(const Queue& queue, const Queries<T>& queries, Tile<const T> k, Tile<const T> v,
            Partial<T> partial, const T* log_weight = nullptr);

/// The log_weight of a point of weight 0. Adding it to a score does not overflow.
constexpr float no_weight = -0x1p100F;

/// Computes
///
///   y[h,d,n] = sum_m R[m,n] z[h,m,d]
///
/// with R the softmax over latents of S. k, y (C, n_point) tiles, no overlap. z (H, M, D)
/// contiguous.
template <class T>
void decode(const Queue& queue, const Queries<T>& queries, Tile<const T> k, const T* z, Tile<T> y);

/// Partials joined in double: the same rows as Partial, in double.
struct Total {
    Sizes sizes;
    double* data = nullptr;

    static int64_t size(const Sizes& s) { return s.n_head * (s.n_dim + 2) * s.n_row(); }
    double* maximum(int64_t head) const { return data + head * (sizes.n_dim + 2) * sizes.n_row(); }
    double* sum(int64_t head) const { return maximum(head) + sizes.n_row(); }
    double* value(int64_t head, int64_t dim) const {
        return maximum(head) + (2 + dim) * sizes.n_row();
    }
};

void reset(Total total);

/// Adds a partial: total += partial. The one with the smaller maximum is rescaled. Cheap: one call
/// per chunk_points. Host only.
template <class T>
void combine(Partial<const T> partial, Total total);
void combine(Total other, Total total);

/// Returns 2^x for x <= 0, in plain double arithmetic without libm, bitwise identical on every
/// machine. 0 below -1000.
double exp2_exact(double x);

/// Returns log2 of x > 0 in plain double arithmetic without libm, bitwise identical on every
/// machine. With x = 2^e m, m about 1, log2 x = e + 2 / ln 2 artanh((m - 1) / (m + 1)) by its
/// series; the first term left out is below 1e-18.
double log2_exact(double x);

namespace ref {
template <class T>
void encode(const Queries<T>& queries, Tile<const T> k, Tile<const T> v, Partial<T> partial,
            const T* log_weight = nullptr);
template <class T>
void decode(const Queries<T>& queries, Tile<const T> k, const T* z, Tile<T> y);
}  // namespace ref
namespace simd {
void encode(VectorLevel level, const Queries<float>& queries, Tile<const float> k,
            Tile<const float> v, Partial<float> partial, const float* log_weight = nullptr);
void decode(VectorLevel level, const Queries<float>& queries, Tile<const float> k, const float* z,
            Tile<float> y);
}  // namespace simd

}  // namespace surrogate::kernels::flare
