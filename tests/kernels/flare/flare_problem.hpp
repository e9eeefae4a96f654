// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "kernels/flare/flare.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {

struct FlareCase {
    flare::Sizes sizes;  // H, M, D
    TileCase tile;
};
inline const std::vector<FlareCase> flare_cases = {
    {{1, 1, 1}, {1, {}}},                                    // everything one
    {{2, 3, 1}, {3, {2, 1}}},                                // one channel a head
    {{1, 16, 3}, {31, {0, 1}}},                              // odd head size, one group of latents
    {{2, 24, 4}, {33, {3, 5}}},                              // padded latents, small instance
    {{3, 5, 5}, {7, {}}},                                    // odd head size
    {{2, 64, 8}, {63, {}}},      {{1, 64, 8}, {1, {1, 3}}},  // more latents than points
    {{8, 128, 8}, {64, {}}},                                 // published model
    {{2, 130, 8}, {65, {1, 1}}},  // more keys than one pass of the score buffer, in decode
    {{1, 17, 8}, {200, {}}},      // the same in encode
    {{2, 7, 16}, {40, {0, 2}}},   // larger heads
    {{1, 9, 37}, {33, {}}},       // head size of no instance, with a rest
    {{2, 4, 8}, {0, {1, 1}}},     // empty rank
};

/// Keys, values and queries of a case, with every number exact in float, for tests in both
/// precisions.
template <class T>
class FlareProblem {
public:
    FlareProblem(const FlareCase& c, std::mt19937& random, double score_size = 2)
        : FlareProblem(c.sizes, c.tile) {
        std::normal_distribution<float> normal;
        for (T& q : by_latent_) q = normal(random);
        k.fill_normal(random, score_size / std::sqrt(static_cast<double>(sizes.n_dim)));
        v.fill_normal(random);
        arrange();
    }
    template <class U>
    explicit FlareProblem(const FlareProblem<U>& other)
        : FlareProblem(other.sizes, {other.k.input_view().shape[1], {}}) {
        std::copy_n(other.queries().by_latent, by_latent_.size(), by_latent_.begin());
        k.fill_from(other.k);
        v.fill_from(other.v);
        arrange();
    }

    flare::Queries<T> queries() const { return {sizes, by_latent_.data(), by_dim_.data()}; }
    void set_query(int64_t head, int64_t m, int64_t d, T value) {
        by_latent_[(head * sizes.n_latent + m) * sizes.n_dim + d] = value;
        arrange();
    }
    int64_t n_point() const { return k.input_view().shape[1]; }
    int64_t n_score() const { return sizes.n_head * sizes.n_latent * sizes.n_dim; }

    /// Largest score in base 2: rounding of a score is a relative error of its exponential.
    double largest_score() const {
        double largest = 0;
        for (int64_t h = 0; h < sizes.n_head; ++h)
            for (int64_t m = 0; m < sizes.n_latent; ++m)
                for (int64_t i = 0; i < n_point(); ++i) {
                    double sum = 0;
                    for (int64_t d = 0; d < sizes.n_dim; ++d)
                        sum +=
                            std::abs(static_cast<double>(
                                         by_latent_[(h * sizes.n_latent + m) * sizes.n_dim + d]) *
                                     k.input_view()(h * sizes.n_dim + d, i));
                    largest = std::max(largest, sum);
                }
        return largest;
    }

    flare::Sizes sizes;
    TileBox<T> k, v;

private:
    FlareProblem(const flare::Sizes& s, const TileCase& tile)
        : sizes(s),
          k(TileBox<T>::input, s.n_channel(), tile.n_point, tile.layout),
          v(TileBox<T>::input, s.n_channel(), tile.n_point, tile.layout),
          by_latent_(s.n_head * s.n_latent * s.n_dim),
          by_dim_(s.n_head * s.n_dim * s.n_row()) {}

    void arrange() {
        for (int64_t h = 0; h < sizes.n_head; ++h)
            for (int64_t m = 0; m < sizes.n_latent; ++m)
                for (int64_t d = 0; d < sizes.n_dim; ++d)
                    by_dim_[(h * sizes.n_dim + d) * sizes.n_row() + m] =
                        by_latent_[(h * sizes.n_latent + m) * sizes.n_dim + d];
    }

    Buffer<T> by_latent_, by_dim_;
};

/// A partial in memory of its own, reset.
template <class T>
struct PartialBox {
    explicit PartialBox(const flare::Sizes& sizes)
        : data(flare::Partial<T>::size(sizes)), partial{sizes, data.data()} {
        flare::reset(partial);
    }
    flare::Partial<const T> input() const { return {partial.sizes, data.data()}; }

    Buffer<T> data;
    flare::Partial<T> partial;
};

/// z = value / sum (H, M, D) of partials joined in double.
inline Buffer<double> latents_of(const flare::Total& total) {
    const auto& [n_head, n_latent, n_dim] = total.sizes;
    Buffer<double> z(n_head * n_latent * n_dim);
    for (int64_t h = 0; h < n_head; ++h)
        for (int64_t m = 0; m < n_latent; ++m)
            for (int64_t d = 0; d < n_dim; ++d)
                z[(h * n_latent + m) * n_dim + d] = total.value(h, d)[m] / total.sum(h)[m];
    return z;
}

template <class T>
Buffer<double> latents_of(const PartialBox<T>& box) {
    Buffer<double> memory(flare::Total::size(box.partial.sizes));
    const flare::Total total{box.partial.sizes, memory.data()};
    flare::reset(total);
    flare::combine(box.input(), total);
    return latents_of(total);
}

template <class T>
Buffer<double> encode_to_latents(const Queue& queue, const FlareProblem<T>& problem) {
    PartialBox<T> box(problem.sizes);
    {
        Traps traps;
        flare::encode<T>(queue, problem.queries(), problem.k.input_view(), problem.v.input_view(),
                         box.partial);
    }
    return latents_of(box);
}

template <class T>
Buffer<T> rounded(const Buffer<double>& from) {
    Buffer<T> to(from.size());
    for (int64_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(from[i]);
    return to;
}

template <class T>
TileBox<T> decode_points(const Queue& queue, const FlareProblem<T>& problem, const Buffer<T>& z,
                         Layout layout = {}) {
    TileBox<T> y(TileBox<T>::output, problem.sizes.n_channel(), problem.n_point(), layout);
    Traps traps;
    flare::decode<T>(queue, problem.queries(), problem.k.input_view(), z.data(), y.view());
    return y;
}

}  // namespace surrogate::kernels::test
