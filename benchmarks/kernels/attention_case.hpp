// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/attention/attention.hpp"
#include "kernels/base/buffer.hpp"
#include "kernels/base/tiles.hpp"

namespace surrogate::bench {

/// Softmax attention in the shape of Ball Sparse Attention: n_query points of each ball (whole
/// tiles) attend to its n_key points, with distances if biased. One thread; fixed random numbers,
/// scores of the size of trained networks.
class AttentionCase {
public:
    AttentionCase(const kernels::Heads& heads, int64_t n_key, int64_t n_query, int64_t n_ball,
                  bool is_biased);

    void forward(const kernels::Queue& queue);
    /// Computes delta and the gradients of queries, keys and values. Needs forward; n_query must
    /// equal n_key.
    void backward(const kernels::Queue& queue);
    /// Returns the largest difference from `ref` in double in the first ball, relative to the
    /// largest result.
    double error(const kernels::Queue& queue);

    /// Returns the number of pairs of a query and a key, in all heads.
    double pairs() const {
        return static_cast<double>(heads_.n_head * n_key_ * n_query_ * n_ball_);
    }
    /// Returns the flops of the products alone: scores and averages.
    double forward_flops() const {
        return 2 * pairs() * static_cast<double>(heads_.n_key_dim + heads_.n_value_dim);
    }
    /// Returns the flops of the backward pass: scores and gradients of weights twice, gradients of
    /// queries, keys and values.
    double backward_flops() const {
        return 2 * pairs() * static_cast<double>(4 * heads_.n_key_dim + 3 * heads_.n_value_dim);
    }

private:
    int64_t n_tile() const { return n_query_ / kernels::tile_points; }
    kernels::Tile<float> ball(kernels::Buffer<float>& data, int64_t ball, int64_t n_channel) const;
    kernels::Tile<float> tile(kernels::Buffer<float>& data, int64_t ball, int64_t t,
                              int64_t n_channel) const;
    kernels::DistanceBias<float> bias(int64_t ball, int64_t t) const;
    void attend_tile(const kernels::Queue& queue, int64_t ball, int64_t t);
    void tile_backward(const kernels::Queue& queue, int64_t ball, int64_t t);

    kernels::Heads heads_;
    int64_t n_key_, n_query_, n_ball_, row_;
    bool is_biased_;
    kernels::Buffer<float> q_, k_, v_, y_, dy_, dq_, dk_, dv_;  ///< (ball, channel, row)
    kernels::Buffer<float> log_sum_, delta_;                    ///< (ball, H, row)
    kernels::Buffer<float> distance_, factor_;                  ///< (ball, n_key, row), (H)
    kernels::Buffer<float> state_, scratch_;
    kernels::Buffer<double> dfactor_;  ///< (H)
};

}  // namespace surrogate::bench
