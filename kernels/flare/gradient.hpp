// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/flare/flare.hpp"

/// Backward pass of the mixer of FLARE: two passes over the points with one sum over all points
/// between them. Scores and both softmaxes are recomputed, tile by tile; no N x M array is stored.
/// Source: spec of FLARE, section 6.
namespace surrogate::kernels::flare {

/// Sums over points for every latent: (H, D, n_row), in the layout of the values of Partial. Add at
/// most chunk_points points, then add the sums to doubles.
template <class T>
struct LatentSums {
    Sizes sizes;
    T* data = nullptr;

    static int64_t size(const Sizes& s) { return s.n_head * s.n_dim * s.n_row(); }
    T* row(int64_t head, int64_t dim) const {
        return data + (head * sizes.n_dim + dim) * sizes.n_row();
    }
};

/// Rows of a head in the array of_points (point_rows * H, n_point), which the first pass writes for
/// the second:
///   point_rows h      maximum over latents of S
///   point_rows h + 1  1 / sum over latents of 2^(S - maximum)
///   point_rows h + 2  delta = <dy[h,:,n], y[h,:,n]>
constexpr int64_t point_rows = 3;

/// Runs the first pass: backward through y = decode(k, z), up to z. With R the softmax over latents
/// of S:
///
///   y[h,d,n]   = sum_m R[m,n] z[h,m,d]               bitwise identical to decode()
///   dz[h,d,m] += sum_n R[m,n] dy[h,d,n]
///
/// k, dy, y (C, n_point) tiles; of_points, y are written; z (H, M, D) contiguous. Arrays must not
/// overlap.
template <class T>
void decode_backward(const Queue& queue, const Queries<T>& queries, Tile<const T> k, const T* z,
                     Tile<const T> dy, Tile<T> y, Tile<T> of_points, LatentSums<T> dz);

/// Latent data of the second pass, when dz is complete. Padding is never read as a result, but must
/// be finite.
///   z        (H, M, D)
///   dz       (H, D, n_row) and gamma[h,m] = <dz[h,m], z[h,m]> (H, n_row)
///   log_sum  (H, n_row) Lm = maximum + log2(sum) of encode() over all points, in base 2
template <class T>
struct LatentSide {
    const T* z = nullptr;
    const T* dz = nullptr;
    const T* gamma = nullptr;
    const T* log_sum = nullptr;
};

/// Runs the second pass. With P = 2^(S - Lm), the softmax over points:
///
///   dS[m,n]    = R[m,n] (<dy[n], z[m]> - delta[n]) + P[m,n] (<dz[m], v[n]> - gamma[m])
///   dv[h,:,n]  = sum_m P[m,n] dz[m]
///   dk[h,:,n]  = ln 2 sum_m dS[m,n] queries[h,m]      (queries are multiplied by s log2 e)
///   dq[h,d,m] += sum_n dS[m,n] k[h,d,n]               the caller multiplies by s
///
/// k, v, dy, dk, dv (C, n_point) tiles; k and dy as in the first pass, of_points as the first pass
/// wrote it; dk and dv are written. Arrays must not overlap. log_weight (n_point): as for encode(),
/// P = 2^(S + log_weight - Lm), and no_weight for points that encode() left out: P = 0. As the rows
/// of tiles, it is readable up to a multiple of lane_count.
template <class T>
void mix_backward(const Queue& queue, const Queries<T>& queries, const LatentSide<T>& latents,
                  Tile<const T> k, Tile<const T> v, Tile<const T> dy, Tile<const T> of_points,
                  Tile<T> dk, Tile<T> dv, LatentSums<T> dq, const T* log_weight = nullptr);

// Both passes: the results of a point are bitwise identical on every SIMD instruction set and in
// every column of a tile. Sums over points are in their order, starting from the values in dz and
// dq.

namespace ref {
template <class T>
void decode_backward(const Queries<T>& queries, Tile<const T> k, const T* z, Tile<const T> dy,
                     Tile<T> y, Tile<T> of_points, LatentSums<T> dz);
template <class T>
void mix_backward(const Queries<T>& queries, const LatentSide<T>& latents, Tile<const T> k,
                  Tile<const T> v, Tile<const T> dy, Tile<const T> of_points, Tile<T> dk,
                  Tile<T> dv, LatentSums<T> dq, const T* log_weight = nullptr);
}  // namespace ref
namespace simd {
void decode_backward(VectorLevel level, const Queries<float>& queries, Tile<const float> k,
                     const float* z, Tile<const float> dy, Tile<float> y, Tile<float> of_points,
                     LatentSums<float> dz);
void mix_backward(VectorLevel level, const Queries<float>& queries,
                  const LatentSide<float>& latents, Tile<const float> k, Tile<const float> v,
                  Tile<const float> dy, Tile<const float> of_points, Tile<float> dk, Tile<float> dv,
                  LatentSums<float> dq, const float* log_weight = nullptr);
}  // namespace simd

}  // namespace surrogate::kernels::flare
