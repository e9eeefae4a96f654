// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels/mixer_gradient_case.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace surrogate::bench {

using namespace kernels;

namespace {

constexpr int64_t chunk_tiles = flare::chunk_points / tile_points;
constexpr int max_threads = 256;

/// One contiguous tile in double.
struct Exact {
    Exact(int64_t n_channel, int64_t n_point)
        : data(n_channel * round_up(n_point, lane_count)),
          tile{data.data(), {n_channel, n_point}, {round_up(n_point, lane_count), 1}} {}
    operator Tile<const double>() const { return tile; }

    Buffer<double> data;
    Tile<double> tile;
};

double distance(const double difference, const double size) {
    return size > 0 ? difference / size : difference;
}

}  // namespace

MixerGradientCase::MixerGradientCase(const flare::Sizes& sizes, int64_t n_point)
    : MixerCase(sizes, n_point),
      dy_(k_.size()),
      dk_(k_.size()),
      dv_(k_.size()),
      of_points_(n_tile_ * flare::point_rows * sizes.n_head * tile_points),
      sums_(max_threads * flare::LatentSums<float>::size(sizes)),
      sum_totals_(sums_.size()),
      dz_(flare::LatentSums<float>::size(sizes)),
      gamma_(sizes.n_head * sizes.n_row()),
      log_sum_(gamma_.size()) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    for (float& x : dy_) x = normal(random);
}

Tile<float> MixerGradientCase::of_points(int64_t t) {
    const int64_t n_row = flare::point_rows * sizes_.n_head;
    return {of_points_.data() + t * n_row * tile_points,
            {n_row, tile(k_, t).shape[1]},
            {tile_points, 1}};
}

template <class Pass>
void MixerGradientCase::sum_over_tiles(const Queue& queue, const Pass& pass) {
    const int64_t n_sum = flare::LatentSums<float>::size(sizes_);
    std::fill(sum_totals_.begin(), sum_totals_.begin() + queue.n_thread() * n_sum, 0.0);
    const Queue one(queue.backend(), queue.level(), 1);
    queue.parallel_for(round_up(n_tile_, chunk_tiles) / chunk_tiles, [&](int64_t c, int thread) {
        float* sums = sums_.data() + thread * n_sum;
        std::fill_n(sums, n_sum, 0.0f);
        for (int64_t t = c * chunk_tiles; t < std::min(n_tile_, (c + 1) * chunk_tiles); ++t)
            pass(t, flare::LatentSums<float>{sizes_, sums}, one);
        for (int64_t i = 0; i < n_sum; ++i)
            sum_totals_[thread * n_sum + i] += static_cast<double>(sums[i]);
    });
    for (int thread = 1; thread < queue.n_thread(); ++thread)
        for (int64_t i = 0; i < n_sum; ++i) sum_totals_[i] += sum_totals_[thread * n_sum + i];
}

void MixerGradientCase::decode_backward(const Queue& queue) {
    const flare::Queries<float> queries{sizes_, by_latent_.data(), by_dim_.data()};
    sum_over_tiles(queue, [&](int64_t t, flare::LatentSums<float> dz, const Queue& one) {
        flare::decode_backward<float>(one, queries, tile(k_, t), z_.data(), tile(dy_, t),
                                      tile(y_, t), of_points(t), dz);
    });
    prepare_latents();
}

void MixerGradientCase::prepare_latents() {
    const flare::Total total{sizes_, totals_.data()};
    const int64_t n_row = sizes_.n_row();
    for (int64_t i = 0; i < dz_.size(); ++i) dz_[i] = static_cast<float>(sum_totals_[i]);
    for (int64_t h = 0; h < sizes_.n_head; ++h) {
        for (int64_t m = 0; m < sizes_.n_latent; ++m) {
            double gamma = 0;
            for (int64_t d = 0; d < sizes_.n_dim; ++d)
                gamma += sum_totals_[(h * sizes_.n_dim + d) * n_row + m] *
                         static_cast<double>(z_[(h * sizes_.n_latent + m) * sizes_.n_dim + d]);
            gamma_[h * n_row + m] = static_cast<float>(gamma);
            log_sum_[h * n_row + m] =
                static_cast<float>(total.maximum(h)[m] + std::log2(total.sum(h)[m]));
        }
    }
}

void MixerGradientCase::mix_backward(const Queue& queue) {
    const flare::Queries<float> queries{sizes_, by_latent_.data(), by_dim_.data()};
    const flare::LatentSide<float> latents{z_.data(), dz_.data(), gamma_.data(), log_sum_.data()};
    sum_over_tiles(queue, [&](int64_t t, flare::LatentSums<float> dq, const Queue& one) {
        flare::mix_backward<float>(one, queries, latents, tile(k_, t), tile(v_, t), tile(dy_, t),
                                   of_points(t), tile(dk_, t), tile(dv_, t), dq);
    });
}

double MixerGradientCase::gradient_error(const Queue& queue) {
    run(queue);
    backward(queue);
    const int64_t n_channel = sizes_.n_channel(), n_row = sizes_.n_row();
    Exact k(n_channel, n_point_), v(n_channel, n_point_), y(n_channel, n_point_),
        dy(n_channel, n_point_), dk(n_channel, n_point_), dv(n_channel, n_point_),
        of_points(flare::point_rows * sizes_.n_head, n_point_);
    for (int64_t c = 0; c < n_channel; ++c) {
        for (int64_t i = 0; i < n_point_; ++i) {
            k.tile(c, i) = tile(k_, i / tile_points)(c, i % tile_points);
            v.tile(c, i) = tile(v_, i / tile_points)(c, i % tile_points);
            dy.tile(c, i) = tile(dy_, i / tile_points)(c, i % tile_points);
        }
    }
    const auto doubles = [](const Buffer<float>& from) {
        Buffer<double> to(from.size());
        std::copy(from.begin(), from.end(), to.begin());
        return to;
    };
    // Latents of this run; MixerCase::error() checks them.
    const auto by_latent = doubles(by_latent_), z = doubles(z_), log_sum = doubles(log_sum_);
    Buffer<double> dz(dz_.size()), dq(dz_.size()), gamma(gamma_.size());
    const flare::Queries<double> queries{sizes_, by_latent.data(), nullptr};
    flare::ref::decode_backward<double>(queries, k, z.data(), dy, y.tile, of_points.tile,
                                        {sizes_, dz.data()});
    for (int64_t h = 0; h < sizes_.n_head; ++h)
        for (int64_t m = 0; m < sizes_.n_latent; ++m)
            for (int64_t d = 0; d < sizes_.n_dim; ++d)
                gamma[h * n_row + m] += dz[(h * sizes_.n_dim + d) * n_row + m] *
                                        z[(h * sizes_.n_latent + m) * sizes_.n_dim + d];
    flare::ref::mix_backward<double>(queries, {z.data(), dz.data(), gamma.data(), log_sum.data()},
                                     k, v, dy, of_points, dk.tile, dv.tile, {sizes_, dq.data()});

    double worst = 0;
    for (auto& [got, want] : {std::pair{&dk_, &dk}, std::pair{&dv_, &dv}}) {
        double difference = 0, size = 0;
        for (int64_t c = 0; c < n_channel; ++c) {
            for (int64_t i = 0; i < n_point_; ++i) {
                const double x = tile(*got, i / tile_points)(c, i % tile_points);
                difference = std::max(difference, std::abs(x - want->tile(c, i)));
                size = std::max(size, std::abs(want->tile(c, i)));
            }
        }
        worst = std::max(worst, distance(difference, size));
    }
    double difference = 0, size = 0;
    for (int64_t row = 0; row < sizes_.n_head * sizes_.n_dim; ++row) {
        for (int64_t m = 0; m < sizes_.n_latent; ++m) {
            const int64_t i = row * n_row + m;
            difference = std::max(difference, std::abs(sum_totals_[i] - dq[i]));
            size = std::max(size, std::abs(dq[i]));
        }
    }
    return std::max(worst, distance(difference, size));
}

}  // namespace surrogate::bench
