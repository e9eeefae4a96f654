// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels/mixer_case.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace surrogate::bench {

using namespace kernels;

namespace {

constexpr int64_t chunk_tiles = 16;  // 1,024 points: the size of an accurate partial sum in float
constexpr int max_threads = 256;

void fill_normal(Buffer<float>& data, std::mt19937& random) {
    std::normal_distribution<float> normal;
    for (float& x : data) x = normal(random);
}

}  // namespace

MixerCase::MixerCase(const flare::Sizes& sizes, int64_t n_point)
    : sizes_(sizes),
      n_point_(n_point),
      n_tile_(round_up(n_point, tile_points) / tile_points),
      by_latent_(sizes.n_channel() * sizes.n_latent),
      by_dim_(sizes.n_channel() * sizes.n_row()),
      k_(n_tile_ * sizes.n_channel() * tile_points),
      v_(k_.size()),
      y_(k_.size()),
      z_(by_latent_.size()),
      partials_(max_threads * flare::Partial<float>::size(sizes)),
      totals_(max_threads * flare::Total::size(sizes)) {
    std::mt19937 random(1);
    for (auto* data : {&by_latent_, &k_, &v_}) fill_normal(*data, random);
    for (int64_t h = 0; h < sizes.n_head; ++h)
        for (int64_t m = 0; m < sizes.n_latent; ++m)
            for (int64_t d = 0; d < sizes.n_dim; ++d)
                by_dim_[(h * sizes.n_dim + d) * sizes.n_row() + m] =
                    by_latent_[(h * sizes.n_latent + m) * sizes.n_dim + d];
}

Tile<float> MixerCase::tile(Buffer<float>& data, int64_t t) {
    const int64_t n_channel = sizes_.n_channel();
    const int64_t count = std::min(tile_points, n_point_ - t * tile_points);
    return {data.data() + t * n_channel * tile_points, {n_channel, count}, {tile_points, 1}};
}

void MixerCase::encode(const Queue& queue) {
    const int64_t n_partial = flare::Partial<float>::size(sizes_);
    const int64_t n_chunk = round_up(n_tile_, chunk_tiles) / chunk_tiles;
    for (int thread = 0; thread < queue.n_thread(); ++thread)
        flare::reset({sizes_, totals_.data() + thread * flare::Total::size(sizes_)});
    const Queue one(queue.backend(), queue.level(), 1);
    queue.parallel_for(n_chunk, [&](int64_t chunk, int thread) {
        const flare::Partial<float> partial{sizes_, partials_.data() + thread * n_partial};
        flare::reset(partial);
        const int64_t end = std::min(n_tile_, (chunk + 1) * chunk_tiles);
        for (int64_t t = chunk * chunk_tiles; t < end; ++t)
            flare::encode<float>(one, {sizes_, by_latent_.data(), by_dim_.data()}, tile(k_, t),
                                 tile(v_, t), partial);
        flare::combine(flare::Partial<const float>{sizes_, partial.data},
                       {sizes_, totals_.data() + thread * flare::Total::size(sizes_)});
    });
}

void MixerCase::join(const Queue& queue) {
    const flare::Total total{sizes_, totals_.data()};
    for (int thread = 1; thread < queue.n_thread(); ++thread)
        flare::combine({sizes_, totals_.data() + thread * flare::Total::size(sizes_)}, total);
    for (int64_t h = 0; h < sizes_.n_head; ++h)
        for (int64_t m = 0; m < sizes_.n_latent; ++m)
            for (int64_t d = 0; d < sizes_.n_dim; ++d)
                z_[(h * sizes_.n_latent + m) * sizes_.n_dim + d] =
                    static_cast<float>(total.value(h, d)[m] / total.sum(h)[m]);
}

void MixerCase::decode(const Queue& queue) {
    const Queue one(queue.backend(), queue.level(), 1);
    queue.parallel_for(n_tile_, [&](int64_t t, int) {
        flare::decode<float>(one, {sizes_, by_latent_.data(), by_dim_.data()}, tile(k_, t),
                             z_.data(), tile(y_, t));
    });
}

void MixerCase::run(const Queue& queue) {
    encode(queue);
    join(queue);
    decode(queue);
}

double MixerCase::error(const Queue& queue) {
    run(queue);
    // The same in double on one contiguous tile.
    const int64_t n_row = round_up(n_point_, lane_count), n_channel = sizes_.n_channel();
    Buffer<double> k(n_channel * n_row), v(k.size()), y(k.size()), z(z_.size());
    Buffer<double> by_latent(by_latent_.size()), partial(flare::Partial<double>::size(sizes_));
    std::copy(by_latent_.begin(), by_latent_.end(), by_latent.begin());
    const auto at = [&](int64_t c, int64_t i) {
        return (i / tile_points * n_channel + c) * tile_points + i % tile_points;
    };
    for (int64_t c = 0; c < n_channel; ++c)
        for (int64_t i = 0; i < n_point_; ++i) {
            k[c * n_row + i] = k_[at(c, i)];
            v[c * n_row + i] = v_[at(c, i)];
        }
    const auto view = [&](Buffer<double>& data) {
        return Tile<double>{data.data(), {n_channel, n_point_}, {n_row, 1}};
    };
    const flare::Queries<double> queries{sizes_, by_latent.data(), nullptr};
    const flare::Partial<double> sums{sizes_, partial.data()};
    flare::reset(sums);
    flare::ref::encode<double>(queries, view(k), view(v), sums);
    for (int64_t h = 0; h < sizes_.n_head; ++h)
        for (int64_t m = 0; m < sizes_.n_latent; ++m)
            for (int64_t d = 0; d < sizes_.n_dim; ++d)
                z[(h * sizes_.n_latent + m) * sizes_.n_dim + d] =
                    sums.value(h, d)[m] / sums.sum(h)[m];
    flare::ref::decode<double>(queries, view(k), z.data(), view(y));
    double difference = 0, size = 0;
    for (int64_t c = 0; c < n_channel; ++c)
        for (int64_t i = 0; i < n_point_; ++i) {
            difference = std::max(difference, std::abs(y_[at(c, i)] - y[c * n_row + i]));
            size = std::max(size, std::abs(y[c * n_row + i]));
        }
    return difference / size;
}

}  // namespace surrogate::bench
