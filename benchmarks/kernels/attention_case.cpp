// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels/attention_case.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace surrogate::bench {

using namespace kernels;

namespace {

void fill_normal(Buffer<float>& data, float scale, std::mt19937& random) {
    std::normal_distribution<float> normal;
    for (float& x : data) x = scale * normal(random);
}

Buffer<double> doubles(const Buffer<float>& data) {
    Buffer<double> copy(data.size());
    std::copy(data.begin(), data.end(), copy.begin());
    return copy;
}

}  // namespace

AttentionCase::AttentionCase(const Heads& heads, int64_t n_key, int64_t n_query, int64_t n_ball,
                             bool is_biased)
    : heads_(heads),
      n_key_(n_key),
      n_query_(n_query),
      n_ball_(n_ball),
      row_(n_key + lane_count),  // an odd number of cache lines: channels in different sets
      is_biased_(is_biased),
      q_(n_ball * heads.n_key_channel() * row_),
      k_(q_.size()),
      v_(n_ball * heads.n_value_channel() * row_),
      y_(v_.size()),
      dy_(v_.size()),
      dq_(q_.size()),
      dk_(q_.size()),
      dv_(v_.size()),
      log_sum_(n_ball * heads.n_head * row_),
      delta_(log_sum_.size()),
      distance_(is_biased ? n_ball * n_key * row_ : 0),
      factor_(heads.n_head),
      state_(SoftmaxState<float>::size(heads)),
      scratch_(attend_scratch(heads)),
      dfactor_(heads.n_head) {
    std::mt19937 random(1);
    fill_normal(q_, 3 / std::sqrt(static_cast<float>(heads.n_key_dim)), random);
    for (Buffer<float>* x : {&k_, &v_, &dy_}) fill_normal(*x, 1, random);
    fill_normal(factor_, 1, random);
    for (float& x : distance_) x = std::uniform_real_distribution<float>(0, 1)(random);
    for (int64_t b = 0; is_biased && b < n_ball; ++b) {
        float* at = distance_.data() + b * n_key * row_;
        for (int64_t i = 0; i < n_key; ++i)
            for (int64_t j = 0; j < i; ++j) at[i * row_ + j] = at[j * row_ + i];
    }
}

Tile<float> AttentionCase::ball(Buffer<float>& data, int64_t b, int64_t n_channel) const {
    return {data.data() + b * n_channel * row_, {n_channel, n_key_}, {row_, 1}};
}

Tile<float> AttentionCase::tile(Buffer<float>& data, int64_t b, int64_t t,
                                int64_t n_channel) const {
    return points(ball(data, b, n_channel), t * tile_points, tile_points);
}

/// Returns the distances of all points of the ball (rows) from a tile of its points: the matrix is
/// symmetric, so that rows may be keys or queries.
DistanceBias<float> AttentionCase::bias(int64_t b, int64_t t) const {
    if (!is_biased_) return {};
    const Tile<const float> all{distance_.data() + b * n_key_ * row_, {n_key_, n_key_}, {row_, 1}};
    return {factor_.data(), points(all, t * tile_points, tile_points)};
}

void AttentionCase::attend_tile(const Queue& queue, int64_t b, int64_t t) {
    const SoftmaxState<float> state{heads_, state_.data()};
    const int64_t d = heads_.n_key_channel(), e = heads_.n_value_channel();
    reset(state);
    kernels::attend<float>(queue, heads_, tile(q_, b, t, d), ball(k_, b, d), ball(v_, b, e), 1.0f,
                           bias(b, t), scratch_.data(), state);
    finish<float>(queue, state, tile(y_, b, t, e));
    log_sums<float>(queue, state, tile(log_sum_, b, t, heads_.n_head));
}

void AttentionCase::forward(const Queue& queue) {
    for (int64_t i = 0; i < n_ball_ * n_tile(); ++i) attend_tile(queue, i / n_tile(), i % n_tile());
}

/// Computes the gradients of a tile's points as queries and as keys.
void AttentionCase::tile_backward(const Queue& queue, int64_t b, int64_t t) {
    const int64_t d = heads_.n_key_channel(), e = heads_.n_value_channel(), h = heads_.n_head;
    const AttendGradient<float> of_tile{tile(q_, b, t, d), tile(dy_, b, t, e),
                                        tile(log_sum_, b, t, h), tile(delta_, b, t, h)};
    attend_backward_queries<float>(queue, heads_, of_tile, ball(k_, b, d), ball(v_, b, e),
                                   bias(b, t), scratch_.data(), tile(dq_, b, t, d),
                                   is_biased_ ? dfactor_.data() : nullptr);
    const AttendGradient<float> of_all{ball(q_, b, d), ball(dy_, b, e), ball(log_sum_, b, h),
                                       ball(delta_, b, h)};
    attend_backward_keys<float>(queue, heads_, of_all, tile(k_, b, t, d), tile(v_, b, t, e),
                                bias(b, t), scratch_.data(), tile(dk_, b, t, d),
                                tile(dv_, b, t, e));
}

void AttentionCase::backward(const Queue& queue) {
    const int64_t e = heads_.n_value_channel();
    for (int64_t b = 0; b < n_ball_; ++b)
        attend_delta<float>(queue, heads_, ball(y_, b, e), ball(dy_, b, e),
                            ball(delta_, b, heads_.n_head));
    for (int64_t i = 0; i < n_ball_ * n_tile(); ++i)
        tile_backward(queue, i / n_tile(), i % n_tile());
}

double AttentionCase::error(const Queue& queue) {
    attend_tile(queue, 0, 0);
    const Buffer<double> q = doubles(q_), k = doubles(k_), v = doubles(v_);
    const Buffer<double> distance = doubles(distance_), factor = doubles(factor_);
    const int64_t d = heads_.n_key_channel(), e = heads_.n_value_channel();
    const auto view = [&](const Buffer<double>& data, int64_t n_row, int64_t n) {
        return Tile<const double>{data.data(), {n_row, n}, {row_, 1}};
    };
    DistanceBias<double> added;
    if (is_biased_) added = {factor.data(), view(distance, n_key_, tile_points)};
    Buffer<double> data(SoftmaxState<double>::size(heads_)), want(e * row_);
    const SoftmaxState<double> state{heads_, data.data()};
    reset(state);
    kernels::ref::attend<double>(heads_, view(q, d, tile_points), view(k, d, n_key_),
                                 view(v, e, n_key_), 1.0, added, state);
    finish<double>(queue, state, {want.data(), {e, tile_points}, {row_, 1}});
    const Tile<float> got = tile(y_, 0, 0, e);
    double difference = 0, size = 0;
    for (int64_t c = 0; c < e; ++c) {
        for (int64_t i = 0; i < tile_points; ++i) {
            const double y = want[c * row_ + i];
            difference = std::max(difference, std::abs(got(c, i) - y));
            size = std::max(size, std::abs(y));
        }
    }
    return difference / size;
}

}  // namespace surrogate::bench
