// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/flare/gradient.hpp"
#include "kernels/flare/scores_ref.hpp"

namespace surrogate::kernels::flare::ref {
namespace {

constexpr double ln_2 = 0.69314718055994531;

/// Rows of one head in of_points, at one point.
template <class T>
struct OfPoint {
    T &maximum, &inverse, &delta;

    OfPoint(Tile<T> of_points, int64_t head, int64_t i)
        : maximum(of_points(point_rows * head, i)),
          inverse(of_points(point_rows * head + 1, i)),
          delta(of_points(point_rows * head + 2, i)) {}
};

/// Processes one point in one head. Latents add their terms to y, then y is divided by the sum.
template <class T>
void decode_point_backward(const Queries<T>& queries, Tile<const T> k, const T* z, Tile<const T> dy,
                           int64_t head, int64_t i, Tile<T> y, OfPoint<T> point, LatentSums<T> dz) {
    const auto& [n_head, n_latent, n_dim] = queries.sizes;
    point.maximum = lowest_score<T>();
    for (int64_t m = 0; m < n_latent; ++m)
        point.maximum = std::max(point.maximum, score(queries, k, head, m, i));

    T sum = 0;
    for (int64_t d = 0; d < n_dim; ++d) y(head * n_dim + d, i) = 0;
    for (int64_t m = 0; m < n_latent; ++m) {
        const T p = power_of_difference(score(queries, k, head, m, i), point.maximum);
        sum += p;
        for (int64_t d = 0; d < n_dim; ++d)
            y(head * n_dim + d, i) += p * z[(head * n_latent + m) * n_dim + d];
    }
    for (int64_t d = 0; d < n_dim; ++d) y(head * n_dim + d, i) /= sum;

    point.inverse = 1 / sum;
    point.delta = 0;
    for (int64_t c = head * n_dim; c < (head + 1) * n_dim; ++c) point.delta += dy(c, i) * y(c, i);
    for (int64_t m = 0; m < n_latent; ++m) {
        const T r = power_of_difference(score(queries, k, head, m, i), point.maximum) / sum;
        for (int64_t d = 0; d < n_dim; ++d) dz.row(head, d)[m] += r * dy(head * n_dim + d, i);
    }
}

/// Processes one point and one latent of a head. log_weight: null, or of the point.
template <class T>
void mix_pair_backward(const Queries<T>& queries, const LatentSide<T>& latents, Tile<const T> k,
                       Tile<const T> v, Tile<const T> dy, int64_t head, int64_t m, int64_t i,
                       OfPoint<const T> point, const T* log_weight, Tile<T> dk, Tile<T> dv,
                       LatentSums<T> dq) {
    const auto& [n_head, n_latent, n_dim] = queries.sizes;
    const int64_t n_row = queries.sizes.n_row(), latent = (head * n_latent + m) * n_dim;
    const T log_sum = latents.log_sum[head * n_row + m];
    const T* dz = latents.dz + head * n_dim * n_row + m;  // (D), stride n_row

    const T s = score(queries, k, head, m, i);
    const T r = power_of_difference(s, point.maximum) * point.inverse;
    const T weighted = log_weight ? s + *log_weight : s;
    const bool is_left_out = log_weight && *log_weight <= no_weight;
    const T p = is_left_out ? T(0) : power_of_difference(std::min(weighted, log_sum), log_sum);
    T dr = -point.delta, dp = -latents.gamma[head * n_row + m];
    for (int64_t d = 0; d < n_dim; ++d) {
        dr += dy(head * n_dim + d, i) * latents.z[latent + d];
        dp += dz[d * n_row] * v(head * n_dim + d, i);
    }
    const T ds = r * dr + p * dp;
    for (int64_t d = 0; d < n_dim; ++d) {
        const int64_t c = head * n_dim + d;
        dv(c, i) += p * dz[d * n_row];
        dk(c, i) += static_cast<T>(ln_2) * ds * queries.by_latent[latent + d];
        dq.row(head, d)[m] += ds * k(c, i);
    }
}

}  // namespace

template <class T>
void decode_backward(const Queries<T>& queries, Tile<const T> k, const T* z, Tile<const T> dy,
                     Tile<T> y, Tile<T> of_points, LatentSums<T> dz) {
    for (int64_t head = 0; head < queries.sizes.n_head; ++head) {
        for (int64_t i = 0; i < k.shape[1]; ++i)
            decode_point_backward(queries, k, z, dy, head, i, y, {of_points, head, i}, dz);
    }
}

template <class T>
void mix_backward(const Queries<T>& queries, const LatentSide<T>& latents, Tile<const T> k,
                  Tile<const T> v, Tile<const T> dy, Tile<const T> of_points, Tile<T> dk,
                  Tile<T> dv, LatentSums<T> dq, const T* log_weight) {
    for (int64_t c = 0; c < queries.sizes.n_channel(); ++c) {
        for (int64_t i = 0; i < k.shape[1]; ++i) dk(c, i) = dv(c, i) = 0;
    }
    for (int64_t head = 0; head < queries.sizes.n_head; ++head) {
        for (int64_t i = 0; i < k.shape[1]; ++i) {
            for (int64_t m = 0; m < queries.sizes.n_latent; ++m)
                mix_pair_backward(queries, latents, k, v, dy, head, m, i, {of_points, head, i},
                                  log_weight ? log_weight + i : nullptr, dk, dv, dq);
        }
    }
}

template void decode_backward(const Queries<float>&, Tile<const float>, const float*,
                              Tile<const float>, Tile<float>, Tile<float>, LatentSums<float>);
template void decode_backward(const Queries<double>&, Tile<const double>, const double*,
                              Tile<const double>, Tile<double>, Tile<double>, LatentSums<double>);
template void mix_backward(const Queries<float>&, const LatentSide<float>&, Tile<const float>,
                           Tile<const float>, Tile<const float>, Tile<const float>, Tile<float>,
                           Tile<float>, LatentSums<float>, const float*);
template void mix_backward(const Queries<double>&, const LatentSide<double>&, Tile<const double>,
                           Tile<const double>, Tile<const double>, Tile<const double>, Tile<double>,
                           Tile<double>, LatentSums<double>, const double*);

}  // namespace surrogate::kernels::flare::ref
