// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/ranks/exact_sum.hpp"

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::flare::exp2_exact;
using kernels::flare::log2_exact;
using kernels::flare::lowest_score;
using kernels::flare::Partial;
using kernels::flare::Sizes;
using kernels::flare::Total;

namespace {

/// z = Z / A for one latent; sums (D + 1): A, Z. No points at all give 0. Returns whether all of it
/// is finite.
template <class T, class Sum>
bool divide(const Sum* sums, int64_t n_dim, T* z) {
    bool finite = true;
    for (int64_t d = 0; d < n_dim; ++d) {
        z[d] = sums[0] == 0 ? T(0) : static_cast<T>(sums[1 + d] / sums[0]);
        finite = finite && std::isfinite(z[d]);
    }
    return finite;
}

template <class T>
T log_sum_of(double maximum, double sum) {
    return sum > 0 ? static_cast<T>(maximum + log2_exact(sum)) : T(0);
}

template <class T>
class FastReduction final : public Reduction<T> {
public:
    FastReduction(const Sizes& sizes, int n_thread)
        : sizes_(sizes),
          maxima_(sizes.n_head * sizes.n_latent),
          sums_(maxima_.size() * (sizes.n_dim + 1)) {
        for (int thread = 0; thread < n_thread; ++thread) {
            partials_.emplace_back(Partial<T>::size(sizes));
            totals_.emplace_back(Total::size(sizes));
        }
    }

    void begin() override {
        for (Buffer<double>& total : totals_) reset(Total{sizes_, total.data()});
    }
    Partial<T> open(int64_t, int thread) override {
        const Partial<T> partial{sizes_, partials_[static_cast<size_t>(thread)].data()};
        reset(partial);
        return partial;
    }
    void close(int64_t, int thread) override {
        combine(Partial<const T>{sizes_, partials_[static_cast<size_t>(thread)].data()},
                total(thread));
    }
    T* v_max(int) override { return nullptr; }

    bool reduce(Communicator& comm, bool poisoned, T* z, T* log_sum) override {
        for (int thread = 1; thread < static_cast<int>(totals_.size()); ++thread)
            combine(total(thread), total(0));
        for_each([&](int64_t head, int64_t m, int64_t i) {
            // A rank without points has the lowest double, which is beyond a float.
            const double own = std::max<double>(total(0).maximum(head)[m], lowest_score<T>());
            maxima_[i] = poisoned ? lowest_score<T>() : static_cast<T>(own);
        });
        comm.all_reduce_max(std::span(maxima_.begin(), maxima_.end()));
        for_each([&](int64_t head, int64_t m, int64_t i) { set_sums(head, m, i, poisoned); });
        comm.all_reduce_sum(std::span(sums_.begin(), sums_.end()));
        bool finite = true;
        for (int64_t i = 0; i < maxima_.size(); ++i) {
            finite &= divide(&sums_[i * (sizes_.n_dim + 1)], sizes_.n_dim, z + i * sizes_.n_dim);
        }
        for_each([&](int64_t head, int64_t m, int64_t i) {
            if (!finite || !log_sum) return;
            log_sum[head * sizes_.n_row() + m] =
                log_sum_of<T>(maxima_[i], sums_[i * (sizes_.n_dim + 1)]);
        });
        return finite;
    }

    int64_t bytes() const override {
        return maxima_.bytes() + sums_.bytes() +
               static_cast<int64_t>(totals_.size()) * (partials_[0].bytes() + totals_[0].bytes());
    }
    int64_t bytes_sent() const override { return maxima_.bytes() + sums_.bytes(); }
    int64_t collectives() const override { return 2; }

private:
    Total total(int thread) { return {sizes_, totals_[static_cast<size_t>(thread)].data()}; }

    /// body(head, latent, head * M + latent)
    template <class Body>
    void for_each(const Body& body) {
        for (int64_t i = 0; i < maxima_.size(); ++i)
            body(i / sizes_.n_latent, i % sizes_.n_latent, i);
    }

    void set_sums(int64_t head, int64_t m, int64_t i, bool poisoned) {
        T* sums = &sums_[i * (sizes_.n_dim + 1)];
        if (poisoned) {
            std::fill_n(sums, sizes_.n_dim + 1, std::numeric_limits<T>::quiet_NaN());
            return;
        }
        const Total own = total(0);
        const double scale = exp2_exact(own.maximum(head)[m] - static_cast<double>(maxima_[i]));
        sums[0] = static_cast<T>(own.sum(head)[m] * scale);
        for (int64_t d = 0; d < sizes_.n_dim; ++d)
            sums[1 + d] = static_cast<T>(own.value(head, d)[m] * scale);
    }

    Sizes sizes_;
    std::vector<Buffer<T>> partials_;     // (n_thread)
    std::vector<Buffer<double>> totals_;  // (n_thread)
    Buffer<T> maxima_;                    // (H, M)
    Buffer<T> sums_;                      // (H, M, 1 + D)
};

template <class T>
class ReproducibleReduction final : public Reduction<T> {
public:
    ReproducibleReduction(const Sizes& sizes, int n_thread, int64_t n_chunk, int64_t n_chunk_global)
        : sizes_(sizes),
          n_thread_(n_thread),
          n_chunk_(n_chunk),
          n_chunk_global_(std::max<int64_t>(1, n_chunk_global)),
          n_row_(sizes.n_head * sizes.n_latent),
          partials_(n_chunk * Partial<T>::size(sizes)),
          v_max_(n_thread * sizes.n_head),
          maxima_(n_row_ + sizes.n_head + 1),
          sums_(ExactGrid::limbs(n_chunk_global_) * n_row_ * (sizes.n_dim + 1)),
          row_(sizes.n_dim + 1) {}

    void begin() override { std::fill(v_max_.begin(), v_max_.end(), T(0)); }
    Partial<T> open(int64_t chunk, int) override {
        reset(partial(chunk));
        return partial(chunk);
    }
    void close(int64_t, int) override {}
    T* v_max(int thread) override { return v_max_.data() + thread * sizes_.n_head; }

    bool reduce(Communicator& comm, bool poisoned, T* z, T* log_sum) override {
        // Integers cannot carry NaN, so a flag is sent with the maxima.
        const bool bad = poisoned || !sums_are_finite();
        set_maxima(bad);
        comm.all_reduce_max(std::span(maxima_.begin(), maxima_.end()));
        const bool finite = maxima_[n_row_ + sizes_.n_head] == 0;
        std::fill(sums_.begin(), sums_.end(), int64_t{0});
        if (finite) add_chunks();
        comm.all_reduce_sum(std::span(sums_.begin(), sums_.end()));
        if (!finite) {
            std::fill_n(z, n_row_ * sizes_.n_dim, std::numeric_limits<T>::quiet_NaN());
            return false;
        }
        for (int64_t i = 0; i < n_row_; ++i) {
            for (int64_t j = 0; j <= sizes_.n_dim; ++j)
                row_[j] = grid(i, j).value(sum(i, j), limb_stride());
            divide(row_.data(), sizes_.n_dim, z + i * sizes_.n_dim);
            if (log_sum)
                log_sum[i / sizes_.n_latent * sizes_.n_row() + i % sizes_.n_latent] =
                    log_sum_of<T>(maxima_[i], row_[0]);
        }
        return true;
    }

    int64_t bytes() const override { return partials_.bytes() + v_max_.bytes() + bytes_sent(); }
    int64_t bytes_sent() const override { return maxima_.bytes() + sums_.bytes(); }
    int64_t collectives() const override { return 2; }

private:
    Partial<T> partial(int64_t chunk) {
        return {sizes_, partials_.data() + chunk * Partial<T>::size(sizes_)};
    }

    int64_t limb_stride() const { return n_row_ * (sizes_.n_dim + 1); }
    int64_t* sum(int64_t i, int64_t j) { return sums_.data() + i * (sizes_.n_dim + 1) + j; }

    /// A chunk's A is at most its number of points, its Z at most that times the largest |v| of the
    /// head.
    ExactGrid grid(int64_t i, int64_t j) const {
        const double v = j == 0 ? 1.0 : static_cast<double>(maxima_[n_row_ + i / sizes_.n_latent]);
        return ExactGrid(n_chunk_global_, max_chunk_points * v);
    }

    bool sums_are_finite() {
        for (int64_t chunk = 0; chunk < n_chunk_; ++chunk) {
            for (int64_t i = 0; i < n_row_; ++i) {
                const int64_t head = i / sizes_.n_latent, m = i % sizes_.n_latent;
                if (!std::isfinite(partial(chunk).sum(head)[m])) return false;
                for (int64_t d = 0; d < sizes_.n_dim; ++d) {
                    if (!std::isfinite(partial(chunk).value(head, d)[m])) return false;
                }
            }
        }
        return true;
    }

    void set_maxima(bool bad) {
        std::fill_n(maxima_.data(), n_row_, lowest_score<T>());
        std::fill_n(maxima_.data() + n_row_, sizes_.n_head, T(0));
        maxima_[n_row_ + sizes_.n_head] = bad ? T(1) : T(0);
        if (bad) return;
        for (int64_t chunk = 0; chunk < n_chunk_; ++chunk) {
            for (int64_t i = 0; i < n_row_; ++i) {
                const T own = partial(chunk).maximum(i / sizes_.n_latent)[i % sizes_.n_latent];
                maxima_[i] = std::max(maxima_[i], own);
            }
        }
        for (int64_t i = 0; i < n_thread_ * sizes_.n_head; ++i) {
            T& largest = maxima_[n_row_ + i % sizes_.n_head];
            largest = std::max(largest, v_max_[i]);
        }
    }

    void add_chunks() {
        for (int64_t i = 0; i < n_row_; ++i) {
            const int64_t head = i / sizes_.n_latent, m = i % sizes_.n_latent;
            const ExactGrid count_grid = grid(i, 0), value_grid = grid(i, 1);
            for (int64_t chunk = 0; chunk < n_chunk_; ++chunk) {
                const Partial<T> p = partial(chunk);
                const double scale = exp2_exact(static_cast<double>(p.maximum(head)[m]) -
                                                static_cast<double>(maxima_[i]));
                count_grid.add(static_cast<double>(p.sum(head)[m]) * scale, sum(i, 0),
                               limb_stride());
                for (int64_t d = 0; d < sizes_.n_dim; ++d) {
                    value_grid.add(static_cast<double>(p.value(head, d)[m]) * scale, sum(i, 1 + d),
                                   limb_stride());
                }
            }
        }
    }

    static constexpr double max_chunk_points = kernels::flare::chunk_points;

    Sizes sizes_;
    int64_t n_thread_, n_chunk_, n_chunk_global_, n_row_;
    Buffer<T> partials_;    // (n_chunk) partials
    Buffer<T> v_max_;       // (n_thread, H)
    Buffer<T> maxima_;      // (H * M) maxima of S, (H) of |v|, flag
    Buffer<int64_t> sums_;  // (limbs, H * M, 1 + D)
    Buffer<double> row_;    // (1 + D)
};

}  // namespace

template <class T>
std::unique_ptr<Reduction<T>> fast_reduction(const Sizes& sizes, int n_thread) {
    return std::make_unique<FastReduction<T>>(sizes, n_thread);
}

template <class T>
std::unique_ptr<Reduction<T>> reproducible_reduction(const Sizes& sizes, int n_thread,
                                                     int64_t n_chunk, int64_t n_chunk_global) {
    return std::make_unique<ReproducibleReduction<T>>(sizes, n_thread, n_chunk, n_chunk_global);
}

template std::unique_ptr<Reduction<float>> fast_reduction(const Sizes&, int);
template std::unique_ptr<Reduction<double>> fast_reduction(const Sizes&, int);
template std::unique_ptr<Reduction<float>> reproducible_reduction(const Sizes&, int, int64_t,
                                                                  int64_t);
template std::unique_ptr<Reduction<double>> reproducible_reduction(const Sizes&, int, int64_t,
                                                                   int64_t);

}  // namespace surrogate::impl::flare
