// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/distance_gradient.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "kernels/base/tiles.hpp"

namespace surrogate::impl::bsa {

using kernels::AttendGradient;
using kernels::Tile;
using kernels::tile_points;

namespace {

template <class T>
using Lanes = std::array<T, tile_points>;

/// Computes sum(i) = first(i) + sum_c a(c, i) b(c, j) over the channels of head h.
template <class T>
void multiply(int64_t n_channel, int64_t h, Tile<const T> a, Tile<const T> b, int64_t j,
              Lanes<T>& sum) {
    for (int64_t c = h * n_channel; c < (h + 1) * n_channel; ++c) {
        const T factor = b(c, j);
        const T* const from = &a(c, 0);
        for (int64_t i = 0; i < a.shape[1]; ++i) sum[static_cast<size_t>(i)] += from[i] * factor;
    }
}

}  // namespace

template <class T>
void add_distance_gradient(const kernels::Heads& heads, const T* factor, const BallSlots<T>& own,
                           const BallSlots<T>& other, Tile<T> dposition) {
    const auto n = static_cast<size_t>(own.position.shape[1]);
    const int64_t n_axis = own.position.shape[0];
    Lanes<T> distance, slope, score, dp;  // slope: the gradient of the distance
    for (int64_t j = 0; j < other.position.shape[1]; ++j) {
        for (size_t i = 0; i < n; ++i) slope[i] = distance[i] = 0;
        for (int64_t k = 0; k < n_axis; ++k) {
            for (size_t i = 0; i < n; ++i) {
                const T step = own.position(k, static_cast<int64_t>(i)) - other.position(k, j);
                distance[i] += step * step;
            }
        }
        for (size_t i = 0; i < n; ++i) distance[i] = std::sqrt(distance[i]);
        for (int64_t h = 0; h < heads.n_head; ++h) {
            const auto start = [&] {
                for (size_t i = 0; i < n; ++i) {
                    score[i] = factor[h] * distance[i];
                    dp[i] = 0;
                }
            };
            const auto add = [&](size_t i, T log_sum, T delta) {
                slope[i] += factor[h] * std::exp2(score[i] - log_sum) * (dp[i] - delta);
            };
            start();  // own slots are queries
            multiply<T>(heads.n_key_dim, h, own.of.q, other.k, j, score);
            multiply<T>(heads.n_value_dim, h, own.of.dy, other.v, j, dp);
            for (size_t i = 0; i < n; ++i) {
                const auto at = static_cast<int64_t>(i);
                add(i, own.of.log_sum(h, at), own.of.delta(h, at));
            }
            start();  // own slots are keys
            multiply<T>(heads.n_key_dim, h, own.k, other.of.q, j, score);
            multiply<T>(heads.n_value_dim, h, own.v, other.of.dy, j, dp);
            for (size_t i = 0; i < n; ++i) add(i, other.of.log_sum(h, j), other.of.delta(h, j));
        }
        for (size_t i = 0; i < n; ++i)
            slope[i] = distance[i] > 0 ? std::numbers::ln2_v<T> * slope[i] / distance[i] : T(0);
        for (int64_t k = 0; k < n_axis; ++k) {
            for (size_t i = 0; i < n; ++i) {
                const auto at = static_cast<int64_t>(i);
                dposition(k, at) += slope[i] * (own.position(k, at) - other.position(k, j));
            }
        }
    }
}

template void add_distance_gradient(const kernels::Heads&, const float*, const BallSlots<float>&,
                                    const BallSlots<float>&, Tile<float>);
template void add_distance_gradient(const kernels::Heads&, const double*, const BallSlots<double>&,
                                    const BallSlots<double>&, Tile<double>);

}  // namespace surrogate::impl::bsa
