// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/flare/flare.hpp"

/// Backward through the mixer of FLARE, in two passes over the points with one sum over all of them
/// between. Scores and both softmaxes are computed again, tile by tile; nothing of N x M is kept.
/// Source: spec of FLARE, section 6.
namespace surrogate::kernels::flare {

/// Sums over points for every latent: (H, D, n_row), laid out as the values of Partial. Add at most
/// chunk_points points, then carry them over to doubles.
template <class T>
struct LatentSums {
    Sizes sizes;
    T* data = nullptr;

    static int64_t size(const Sizes& s) { return s.n_head * s.n_dim * s.n_row(); }
    T* row(int64_t head, int64_t dim) const {
        return data + (head * sizes.n_dim + dim) * sizes.n_row();
    }
};

/// Rows of a head in what the first pass leaves for the second, of_points (point_rows * H,
/// n_point):
///   point_rows h      maximum over latents of S
///   point_rows h + 1  1 / sum over latents of 2^(S - maximum)
///   point_rows h + 2  delta = <dy[h,:,n], y[h,:,n]>
constexpr int64_t point_rows = 3;

/// First pass: backward through y = decode(k, z), as far as z. With R the softmax over latents of
/// S:
///
///   y[h,d,n]   = sum_m R[m,n] z[h,m,d]               as decode() gives it, the same bits
///   dz[h,d,m] += sum_n R[m,n] dy[h,d,n]
///
/// k, dy, y (C, n_point) tiles; of_points, y are written; z (H, M, D) contiguous. Nothing overlaps.
template <class T>
void decode_backward(const Queue& queue, const Queries<T>& queries, Tile<const T> k, const T* z,
                     Tile<const T> dy, Tile<T> y, Tile<T> of_points, LatentSums<T> dz);

/// Data of the latents in the second pass, when dz is complete. Padding is never read as a result,
/// but must be finite.
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

/// Second pass. With P = 2^(S - Lm), the softmax over points:
///
///   dS[m,n]    = R[m,n] (<dy[n], z[m]> - delta[n]) + P[m,n] (<dz[m], v[n]> - gamma[m])
///   dv[h,:,n]  = sum_m P[m,n] dz[m]
///   dk[h,:,n]  = ln 2 sum_m dS[m,n] queries[h,m]      (queries are multiplied by s log2 e)
///   dq[h,d,m] += sum_n dS[m,n] k[h,d,n]               the caller multiplies by s
///
/// k, v, dy, dk, dv (C, n_point) tiles; k and dy as in the first pass, of_points as it left them;
/// dk and dv are written. Nothing overlaps.
template <class T>
void mix_backward(const Queue& queue, const Queries<T>& queries, const LatentSide<T>& latents,
                  Tile<const T> k, Tile<const T> v, Tile<const T> dy, Tile<const T> of_points,
                  Tile<T> dk, Tile<T> dv, LatentSums<T> dq);

// Both: a point has the same bits on every vector level and wherever it lies in a tile; sums over
// points run in their order, from what dz and dq hold.

namespace ref {
template <class T>
void decode_backward(const Queries<T>& queries, Tile<const T> k, const T* z, Tile<const T> dy,
                     Tile<T> y, Tile<T> of_points, LatentSums<T> dz);
template <class T>
void mix_backward(const Queries<T>& queries, const LatentSide<T>& latents, Tile<const T> k,
                  Tile<const T> v, Tile<const T> dy, Tile<const T> of_points, Tile<T> dk,
                  Tile<T> dv, LatentSums<T> dq);
}  // namespace ref
namespace simd {
void decode_backward(VectorLevel level, const Queries<float>& queries, Tile<const float> k,
                     const float* z, Tile<const float> dy, Tile<float> y, Tile<float> of_points,
                     LatentSums<float> dz);
void mix_backward(VectorLevel level, const Queries<float>& queries,
                  const LatentSide<float>& latents, Tile<const float> k, Tile<const float> v,
                  Tile<const float> dy, Tile<const float> of_points, Tile<float> dk, Tile<float> dv,
                  LatentSums<float> dq);
}  // namespace simd

}  // namespace surrogate::kernels::flare
