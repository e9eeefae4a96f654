// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/gradient_reduction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/ranks/exact_sum.hpp"

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::flare::LatentSums;
using kernels::flare::Sizes;

namespace {

/// body(row, latent, row * M + latent) over the latents of rows head * D + dim, without padding.
template <class Body>
void for_each(const Sizes& sizes, const Body& body) {
    for (int64_t row = 0; row < sizes.n_channel(); ++row) {
        for (int64_t m = 0; m < sizes.n_latent; ++m) body(row, m, row * sizes.n_latent + m);
    }
}

template <class T>
class FastReduction final : public GradientReduction<T> {
public:
    FastReduction(const Sizes& sizes, int n_thread)
        : sizes_(sizes), sums_(sizes.n_channel() * sizes.n_latent) {
        for (int thread = 0; thread < n_thread; ++thread) {
            partials_.emplace_back(LatentSums<T>::size(sizes));
            totals_.emplace_back(LatentSums<T>::size(sizes));
        }
    }

    void begin() override {
        for (Buffer<double>& total : totals_) std::ranges::fill(total, 0.0);
    }
    LatentSums<T> open(int64_t, int thread) override {
        Buffer<T>& partial = partials_[static_cast<size_t>(thread)];
        std::ranges::fill(partial, T(0));
        return {sizes_, partial.data()};
    }
    void close(int64_t, int thread) override {
        const Buffer<T>& partial = partials_[static_cast<size_t>(thread)];
        Buffer<double>& total = totals_[static_cast<size_t>(thread)];
        for (int64_t i = 0; i < partial.size(); ++i) total[i] += static_cast<double>(partial[i]);
    }

    bool reduce(Communicator& comm, bool poisoned, T* dz) override {
        Buffer<double>& total = totals_.front();
        for (size_t thread = 1; thread < totals_.size(); ++thread) {
            for (int64_t i = 0; i < total.size(); ++i) total[i] += totals_[thread][i];
        }
        for_each(sizes_, [&](int64_t row, int64_t m, int64_t i) {
            sums_[i] = poisoned ? std::numeric_limits<T>::quiet_NaN()
                                : static_cast<T>(total[row * sizes_.n_row() + m]);
        });
        comm.all_reduce_sum(std::span(sums_.begin(), sums_.end()));
        bool finite = true;
        for_each(sizes_, [&](int64_t row, int64_t m, int64_t i) {
            dz[row * sizes_.n_row() + m] = sums_[i];
            finite &= std::isfinite(sums_[i]);
        });
        return finite;
    }

    int64_t bytes() const override {
        return sums_.bytes() +
               static_cast<int64_t>(totals_.size()) * (partials_[0].bytes() + totals_[0].bytes());
    }
    int64_t bytes_sent() const override { return sums_.bytes(); }
    int64_t collectives() const override { return 1; }

private:
    Sizes sizes_;
    std::vector<Buffer<T>> partials_;     // (n_thread) sums of a chunk
    std::vector<Buffer<double>> totals_;  // (n_thread)
    Buffer<T> sums_;                      // (H, D, M)
};

template <class T>
class ReproducibleReduction final : public GradientReduction<T> {
public:
    ReproducibleReduction(const Sizes& sizes, int64_t n_chunk, int64_t n_chunk_global)
        : sizes_(sizes),
          n_chunk_(n_chunk),
          n_chunk_global_(std::max<int64_t>(1, n_chunk_global)),
          partials_(n_chunk * LatentSums<T>::size(sizes)),
          maxima_(sizes.n_head + 1),
          sums_(ExactGrid::limbs(n_chunk_global_) * sizes.n_channel() * sizes.n_latent) {}

    void begin() override {}
    LatentSums<T> open(int64_t chunk, int) override {
        std::fill_n(partial(chunk), LatentSums<T>::size(sizes_), T(0));
        return {sizes_, partial(chunk)};
    }
    void close(int64_t, int) override {}

    bool reduce(Communicator& comm, bool poisoned, T* dz) override {
        // Integers cannot carry NaN, so a flag is sent with the maxima.
        set_maxima(poisoned);
        comm.all_reduce_max(std::span(maxima_.begin(), maxima_.end()));
        const bool finite = maxima_[sizes_.n_head] == 0;
        std::ranges::fill(sums_, int64_t{0});
        if (finite) add_chunks();
        comm.all_reduce_sum(std::span(sums_.begin(), sums_.end()));
        if (!finite) return false;
        for_each(sizes_, [&](int64_t row, int64_t m, int64_t i) {
            dz[row * sizes_.n_row() + m] =
                static_cast<T>(grid(row).value(sums_.data() + i, limb_stride()));
        });
        return true;
    }

    int64_t bytes() const override { return partials_.bytes() + bytes_sent(); }
    int64_t bytes_sent() const override { return maxima_.bytes() + sums_.bytes(); }
    int64_t collectives() const override { return 2; }

private:
    T* partial(int64_t chunk) { return partials_.data() + chunk * LatentSums<T>::size(sizes_); }
    int64_t limb_stride() const { return sizes_.n_channel() * sizes_.n_latent; }
    ExactGrid grid(int64_t row) const {
        return ExactGrid(n_chunk_global_, static_cast<double>(maxima_[row / sizes_.n_dim]));
    }

    void set_maxima(bool poisoned) {
        std::ranges::fill(maxima_, T(0));
        bool is_finite = !poisoned;
        for (int64_t chunk = 0; chunk < n_chunk_ && is_finite; ++chunk) {
            for_each(sizes_, [&](int64_t row, int64_t m, int64_t) {
                const T size = std::abs(partial(chunk)[row * sizes_.n_row() + m]);
                is_finite &= std::isfinite(size);
                T& largest = maxima_[row / sizes_.n_dim];
                if (std::isgreater(size, largest)) largest = size;
            });
        }
        if (is_finite) return;
        std::ranges::fill(maxima_, T(0));
        maxima_[sizes_.n_head] = 1;
    }

    void add_chunks() {
        for (int64_t row = 0; row < sizes_.n_channel(); ++row) {
            const ExactGrid exact = grid(row);
            int64_t* const sums = sums_.data() + row * sizes_.n_latent;
            for (int64_t chunk = 0; chunk < n_chunk_; ++chunk) {
                const T* const from = partial(chunk) + row * sizes_.n_row();
                for (int64_t m = 0; m < sizes_.n_latent; ++m)
                    exact.add(static_cast<double>(from[m]), sums + m, limb_stride());
            }
        }
    }

    Sizes sizes_;
    int64_t n_chunk_, n_chunk_global_;
    Buffer<T> partials_;    // (n_chunk) sums of a chunk
    Buffer<T> maxima_;      // (H), flag
    Buffer<int64_t> sums_;  // (limbs, H, D, M)
};

}  // namespace

template <class T>
std::unique_ptr<GradientReduction<T>> fast_gradient_reduction(const Sizes& sizes, int n_thread) {
    return std::make_unique<FastReduction<T>>(sizes, n_thread);
}

template <class T>
std::unique_ptr<GradientReduction<T>> reproducible_gradient_reduction(const Sizes& sizes,
                                                                      int64_t n_chunk,
                                                                      int64_t n_chunk_global) {
    return std::make_unique<ReproducibleReduction<T>>(sizes, n_chunk, n_chunk_global);
}

template std::unique_ptr<GradientReduction<float>> fast_gradient_reduction(const Sizes&, int);
template std::unique_ptr<GradientReduction<double>> fast_gradient_reduction(const Sizes&, int);
template std::unique_ptr<GradientReduction<float>> reproducible_gradient_reduction(const Sizes&,
                                                                                   int64_t,
                                                                                   int64_t);
template std::unique_ptr<GradientReduction<double>> reproducible_gradient_reduction(const Sizes&,
                                                                                    int64_t,
                                                                                    int64_t);

}  // namespace surrogate::impl::flare
