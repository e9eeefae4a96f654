// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "libsurrogate/src/model/flare/cloud_reduction_parts.hpp"
#include "libsurrogate/src/model/flare/latent_quotients.hpp"

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::Queue;
using kernels::flare::exp2_exact;
using kernels::flare::lowest_score;
using kernels::flare::Partial;
using kernels::flare::Sizes;
using kernels::flare::Total;

namespace {

/// Each thread adds the chunks of a cloud to a total of its own. Thread t has chunks behind those
/// of thread t - 1, so that total part + t belongs to one part and one thread.
template <class T>
class FastCloudReduction final : public ReductionOfParts<T> {
public:
    FastCloudReduction(const Sizes& sizes, const Queue& queue, const CloudTiles& tiles)
        : ReductionOfParts<T>(sizes, queue, tiles) {
        for (int thread = 0; thread < queue.n_thread(); ++thread)
            partials_.emplace_back(Partial<T>::size(sizes));
    }

    void resize() override {
        this->count_parts();
        totals_of_chunk_.resize(static_cast<size_t>(this->n_chunk()));
        totals_of_part_.assign(static_cast<size_t>(this->n_part()), {});
        const int n_thread = queue_.n_thread();
        for (int thread = 0; thread < n_thread; ++thread) {
            const Range own = balanced_range(this->n_chunk(), thread, n_thread);
            for (int64_t chunk = own.begin; chunk < own.end; ++chunk) {
                const int64_t part = this->part_of(chunk), total = part + thread;
                Range& totals = totals_of_part_[static_cast<size_t>(part)];
                totals = hull(totals, {total, total + 1});
                totals_of_chunk_[static_cast<size_t>(chunk)] = total;
            }
        }
        const int64_t n_total = this->n_chunk() > 0 ? this->n_part() + n_thread - 1 : 0;
        totals_.resize(n_total * Total::size(sizes_));
        maxima_.resize(n_shared_ * this->n_row());
        sums_.resize(maxima_.size() * (sizes_.n_dim + 1));
    }

    Partial<T> open(int64_t chunk, int thread) override {
        const int64_t total = totals_of_chunk_[static_cast<size_t>(chunk)];
        const bool is_first =
            chunk == 0 || totals_of_chunk_[static_cast<size_t>(chunk - 1)] != total;
        if (is_first) reset(this->total(total));
        const Partial<T> partial{sizes_, partials_[static_cast<size_t>(thread)].data()};
        reset(partial);
        return partial;
    }
    void close(int64_t chunk, int thread) override {
        combine(Partial<const T>{sizes_, partials_[static_cast<size_t>(thread)].data()},
                total(totals_of_chunk_[static_cast<size_t>(chunk)]));
    }
    T* v_max(int64_t) override { return nullptr; }

    bool reduce(Communicator& comm, bool poisoned, T* z) override {
        poisoned = !this->for_parts([&](int64_t p, int) {
            if (!poisoned) join(p);
            if (this->is_shared(p)) set_maxima(p, poisoned);
            if (this->is_shared(p) || poisoned) return !poisoned;
            return divide(total(totals(p).begin), z + p * this->n_z());
        }) || poisoned;
        if (n_shared_ == 0) return !poisoned;
        comm.all_reduce_max(std::span(maxima_.begin(), maxima_.end()));
        this->for_parts([&](int64_t p, int) {
            if (this->is_shared(p)) set_sums(p, poisoned);
            return true;
        });
        comm.all_reduce_sum(std::span(sums_.begin(), sums_.end()));
        return this->for_parts([&](int64_t p, int) {
            return !this->is_shared(p) || divide_shared(p, z + p * this->n_z());
        }) && !poisoned;
    }

    int64_t bytes() const override {
        return this->index_bytes() + totals_.bytes() + bytes_sent() +
               static_cast<int64_t>(partials_.size()) * partials_[0].bytes() +
               static_cast<int64_t>(totals_of_chunk_.capacity() * sizeof(int64_t) +
                                    totals_of_part_.capacity() * sizeof(Range));
    }
    int64_t bytes_sent() const override {
        return (maxima_.size() + sums_.size()) * static_cast<int64_t>(sizeof(T));
    }

private:
    using ReductionOfParts<T>::sizes_, ReductionOfParts<T>::queue_, ReductionOfParts<T>::n_shared_;

    Total total(int64_t i) { return {sizes_, totals_.data() + i * Total::size(sizes_)}; }
    Range totals(int64_t part) const { return totals_of_part_[static_cast<size_t>(part)]; }
    /// The totals of a part, into the first of them.
    void join(int64_t part) {
        for (int64_t t = totals(part).begin + 1; t < totals(part).end; ++t)
            combine(total(t), total(totals(part).begin));
    }

    void set_maxima(int64_t part, bool poisoned) {
        T* const maxima = maxima_.data() + this->shared(part) * this->n_row();
        const bool has_points = totals(part).size() > 0 && !poisoned;
        std::fill_n(maxima, this->n_row(), lowest_score<T>());
        for (int64_t head = 0; head < sizes_.n_head && has_points; ++head) {
            const double* const own = total(totals(part).begin).maximum(head);
            for (int64_t m = 0; m < sizes_.n_latent; ++m)
                maxima[head * sizes_.n_latent + m] = static_cast<T>(own[m]);
        }
    }
    /// (1 + D, M) of each head: rows, as in a Total.
    void set_sums(int64_t part, bool poisoned) {
        const int64_t first = this->shared(part) * this->n_row(), n_latent = sizes_.n_latent;
        T* sums = sums_.data() + first * (sizes_.n_dim + 1);
        const int64_t n_sum = this->n_row() * (sizes_.n_dim + 1);
        if (poisoned) {
            std::fill_n(sums, n_sum, std::numeric_limits<T>::quiet_NaN());
            return;
        }
        if (totals(part).size() == 0) {
            std::fill_n(sums, n_sum, T(0));
            return;
        }
        const Total own = total(totals(part).begin);
        for (int64_t head = 0; head < sizes_.n_head; ++head) {
            const T* const largest = maxima_.data() + first + head * n_latent;
            for (int64_t m = 0; m < n_latent; ++m) {
                const double scale =
                    exp2_exact(own.maximum(head)[m] - static_cast<double>(largest[m]));
                for (int64_t j = 0; j <= sizes_.n_dim; ++j) {
                    const double sum = own.sum(head)[j * sizes_.n_row() + m];
                    sums[(m * (sizes_.n_dim + 1)) + j] = static_cast<T>(sum * scale);
                }
            }
            sums += n_latent * (sizes_.n_dim + 1);
        }
    }
    bool divide_shared(int64_t part, T* z) const {
        const int64_t n_dim = sizes_.n_dim;
        const T* sums = sums_.data() + this->shared(part) * this->n_row() * (n_dim + 1);
        for (int64_t i = 0; i < this->n_row(); ++i, sums += n_dim + 1) {
            for (int64_t d = 0; d < n_dim; ++d)
                z[i * n_dim + d] = sums[0] == 0 ? T(0) : sums[1 + d] / sums[0];
        }
        return count_infinite(z, this->n_z()) == 0;
    }

    std::vector<Buffer<T>> partials_;       // (n_thread)
    std::vector<int64_t> totals_of_chunk_;  // (chunks)
    std::vector<Range> totals_of_part_;     // (parts)
    Buffer<double> totals_;                 // (parts + n_thread - 1) totals
    Buffer<T> maxima_;                      // (shared, H, M)
    Buffer<T> sums_;                        // (shared, H, M, 1 + D)
};

}  // namespace

template <class T>
std::unique_ptr<CloudReduction<T>> fast_cloud_reduction(const Sizes& sizes, const Queue& queue,
                                                        const CloudTiles& tiles) {
    return std::make_unique<FastCloudReduction<T>>(sizes, queue, tiles);
}

template std::unique_ptr<CloudReduction<float>> fast_cloud_reduction(const Sizes&, const Queue&,
                                                                     const CloudTiles&);
template std::unique_ptr<CloudReduction<double>> fast_cloud_reduction(const Sizes&, const Queue&,
                                                                      const CloudTiles&);

}  // namespace surrogate::impl::flare
