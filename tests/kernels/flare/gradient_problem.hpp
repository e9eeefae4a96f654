// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/flare/gradient.hpp"
#include "tests/kernels/flare/flare_problem.hpp"

namespace surrogate::kernels::test {

/// Data of latents in the second pass, in memory of its own. Padding holds 0.75.
template <class T>
class LatentSideBox {
public:
    /// From z and log_sum as encode() of a problem gives them, and dz of a first pass.
    LatentSideBox(const FlareProblem<double>& problem, const Buffer<double>& dz)
        : sizes_(problem.sizes),
          z_(sizes_.n_head * sizes_.n_latent * sizes_.n_dim),
          dz_(flare::LatentSums<T>::size(sizes_)),
          gamma_(sizes_.n_head * sizes_.n_row()),
          log_sum_(gamma_.size()) {
        for (Buffer<T>* x : {&dz_, &gamma_, &log_sum_}) std::fill(x->begin(), x->end(), T(0.75));
        PartialBox<double> box(sizes_);
        flare::ref::encode<double>(problem.queries(), problem.k.input_view(),
                                   problem.v.input_view(), box.partial);
        z_ = rounded<T>(latents_of(box));
        const int64_t n_row = sizes_.n_row();
        for (int64_t h = 0; h < sizes_.n_head; ++h) {
            for (int64_t m = 0; m < sizes_.n_latent; ++m) {
                double gamma = 0;
                for (int64_t d = 0; d < sizes_.n_dim; ++d) {
                    const double x = dz[(h * sizes_.n_dim + d) * n_row + m];
                    dz_[(h * sizes_.n_dim + d) * n_row + m] = static_cast<T>(x);
                    gamma += x * z_[(h * sizes_.n_latent + m) * sizes_.n_dim + d];
                }
                gamma_[h * n_row + m] = static_cast<T>(gamma);
                log_sum_[h * n_row + m] =
                    static_cast<T>(box.partial.maximum(h)[m] + std::log2(box.partial.sum(h)[m]));
            }
        }
    }

    const T* z() const { return z_.data(); }
    flare::LatentSide<T> view() const {
        return {z_.data(), dz_.data(), gamma_.data(), log_sum_.data()};
    }

private:
    flare::Sizes sizes_;
    Buffer<T> z_, dz_, gamma_, log_sum_;
};

/// Results of both passes, in awkward memory. Sums start at zero.
template <class T>
struct MixerGradients {
    explicit MixerGradients(const FlareCase& c)
        : sizes(c.sizes),
          y(TileBox<T>::output, sizes.n_channel(), c.tile.n_point, c.tile.layout),
          of_points(TileBox<T>::output, flare::point_rows * sizes.n_head, c.tile.n_point, {1, 1}),
          dk(TileBox<T>::output, sizes.n_channel(), c.tile.n_point, {1, 3}),
          dv(TileBox<T>::output, sizes.n_channel(), c.tile.n_point, c.tile.layout),
          dz_(flare::LatentSums<T>::size(sizes)),
          dq_(dz_.size()) {}

    /// The first pass.
    void decode_backward(const Queue& queue, const FlareProblem<T>& problem, const T* z,
                         Tile<const T> dy) {
        Traps traps;
        flare::decode_backward<T>(queue, problem.queries(), problem.k.input_view(), z, dy, y.view(),
                                  of_points.view(), dz());
    }
    /// Runs the second pass. The first pass may be from another object.
    void mix_backward(const Queue& queue, const FlareProblem<T>& problem,
                      const flare::LatentSide<T>& latents, Tile<const T> dy,
                      Tile<const T> of_points_of_first, const T* log_weight = nullptr) {
        Traps traps;
        flare::mix_backward<T>(queue, problem.queries(), latents, problem.k.input_view(),
                               problem.v.input_view(), dy, of_points_of_first, dk.view(), dv.view(),
                               dq(), log_weight);
    }

    flare::LatentSums<T> dz() { return {sizes, dz_.data()}; }
    flare::LatentSums<T> dq() { return {sizes, dq_.data()}; }
    const Buffer<T>& dz_rows() const { return dz_; }

    flare::Sizes sizes;
    TileBox<T> y, of_points, dk, dv;

private:
    Buffer<T> dz_, dq_;
};

/// (H, M, D) of sums over points.
template <class T>
Buffer<double> by_latent(const flare::LatentSums<T>& sums) {
    const auto& [n_head, n_latent, n_dim] = sums.sizes;
    Buffer<double> all(n_head * n_latent * n_dim);
    for (int64_t h = 0; h < n_head; ++h)
        for (int64_t m = 0; m < n_latent; ++m)
            for (int64_t d = 0; d < n_dim; ++d)
                all[(h * n_latent + m) * n_dim + d] = sums.row(h, d)[m];
    return all;
}

inline void expect_same_sums(flare::LatentSums<float> got, flare::LatentSums<float> want) {
    for (int64_t h = 0; h < want.sizes.n_head; ++h)
        for (int64_t d = 0; d < want.sizes.n_dim; ++d)
            ASSERT_EQ(std::memcmp(got.row(h, d), want.row(h, d),
                                  static_cast<size_t>(want.sizes.n_latent) * sizeof(float)),
                      0)
                << "head " << h << ", channel " << d;
}

}  // namespace surrogate::kernels::test
