// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "libsurrogate/src/model/flare/cloud_reduction_parts.hpp"
#include "libsurrogate/src/model/flare/latent_quotients.hpp"
#include "libsurrogate/src/ranks/exact_sum.hpp"

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::Queue;
using kernels::flare::exp2_exact;
using kernels::flare::lowest_score;
using kernels::flare::Partial;
using kernels::flare::Sizes;

namespace {

template <class T>
class ReproducibleCloudReduction final : public ReductionOfParts<T> {
public:
    ReproducibleCloudReduction(const Sizes& sizes, const Queue& queue, const CloudTiles& tiles)
        : ReductionOfParts<T>(sizes, queue, tiles) {}

    void resize() override {
        this->count_parts();
        chunks_.assign(static_cast<size_t>(this->n_part()), {});
        for (int64_t chunk = 0; chunk < this->n_chunk(); ++chunk) {
            Range& own = chunks_[static_cast<size_t>(this->part_of(chunk))];
            own = hull(own, {chunk, chunk + 1});
        }
        int64_t n_sum = 0;
        first_sum_.assign(static_cast<size_t>(this->n_part()), 0);
        for (int64_t p = 0; p < this->n_part(); ++p) {
            if (!this->is_shared(p)) continue;
            first_sum_[static_cast<size_t>(p)] = n_sum;
            n_sum += ExactGrid::limbs(n_chunk_global(p)) * limb_stride();
        }
        partials_.resize(this->n_chunk() * Partial<T>::size(sizes_));
        v_max_.resize(this->n_chunk() * sizes_.n_head);
        maxima_.resize(n_shared_ > 0 ? n_shared_ * n_maximum() + 1 : 0);
        sums_.resize(n_sum);
        const bool has_own = n_shared_ < this->n_part();
        own_maxima_.resize(has_own ? queue_.n_thread() * n_maximum() : 0);
        own_sums_.resize(has_own ? queue_.n_thread() * 2 * limb_stride() : 0);
        rows_.resize(queue_.n_thread() * (sizes_.n_dim + 1));
    }

    Partial<T> open(int64_t chunk, int) override {
        reset(partial(chunk));
        std::fill_n(v_max(chunk), sizes_.n_head, T(0));
        return partial(chunk);
    }
    void close(int64_t, int) override {}
    T* v_max(int64_t chunk) override { return v_max_.data() + chunk * sizes_.n_head; }

    bool reduce(Communicator& comm, bool poisoned, T* z) override {
        // Integers cannot carry NaN, so a flag is sent with the maxima.
        bool finite = this->for_parts([&](int64_t p, int thread) {
            const bool is_good = !poisoned && is_finite(p);
            if (this->is_shared(p)) {
                set_maxima(p, is_good, maxima(p));
            } else if (is_good) {
                T* const own = own_maxima_.data() + thread * n_maximum();
                int64_t* const sums = own_sums_.data() + thread * 2 * limb_stride();
                set_maxima(p, true, own);
                std::fill_n(sums, 2 * limb_stride(), int64_t{0});
                add_chunks(p, own, sums);
                divide(p, thread, own, sums, z + p * this->n_z());
            }
            return is_good;
        }) && !poisoned;
        if (n_shared_ == 0) return finite;
        T& flag = *(maxima_.end() - 1);
        flag = finite ? T(0) : T(1);
        comm.all_reduce_max(std::span(maxima_.begin(), maxima_.end()));
        finite = flag == 0;
        std::ranges::fill(sums_, int64_t{0});
        if (finite) for_shared([&](int64_t p, int) { add_chunks(p, maxima(p), sums(p)); });
        comm.all_reduce_sum(std::span(sums_.begin(), sums_.end()));
        if (!finite) return false;
        for_shared([&](int64_t p, int thread) {
            divide(p, thread, maxima(p), sums(p), z + p * this->n_z());
        });
        return true;
    }

    int64_t bytes() const override {
        return this->index_bytes() + partials_.bytes() + v_max_.bytes() + maxima_.bytes() +
               sums_.bytes() + own_maxima_.bytes() + own_sums_.bytes() + rows_.bytes() +
               static_cast<int64_t>(chunks_.capacity() * sizeof(Range) +
                                    first_sum_.capacity() * sizeof(int64_t));
    }
    int64_t bytes_sent() const override {
        return maxima_.size() * static_cast<int64_t>(sizeof(T)) +
               sums_.size() * static_cast<int64_t>(sizeof(int64_t));
    }

private:
    using ReductionOfParts<T>::sizes_, ReductionOfParts<T>::queue_, ReductionOfParts<T>::n_shared_;

    template <class Body>
    void for_shared(const Body& body) {
        this->for_parts([&](int64_t p, int thread) {
            if (this->is_shared(p)) body(p, thread);
            return true;
        });
    }
    Partial<T> partial(int64_t chunk) {
        return {sizes_, partials_.data() + chunk * Partial<T>::size(sizes_)};
    }
    Range chunks(int64_t part) const { return chunks_[static_cast<size_t>(part)]; }
    int64_t n_chunk_global(int64_t part) const {
        constexpr int64_t n = kernels::flare::chunk_points;
        return (this->tiles_.divided()[static_cast<size_t>(part)].n_global + n - 1) / n;
    }
    int64_t n_maximum() const { return this->n_row() + sizes_.n_head; }
    int64_t limb_stride() const { return this->n_row() * (sizes_.n_dim + 1); }
    T* maxima(int64_t part) { return maxima_.data() + this->shared(part) * n_maximum(); }
    int64_t* sums(int64_t part) { return sums_.data() + first_sum_[static_cast<size_t>(part)]; }

    bool is_finite(int64_t part) {
        for (int64_t chunk = chunks(part).begin; chunk < chunks(part).end; ++chunk)
            if (!flare::is_finite(partial(chunk))) return false;
        return true;
    }

    /// The grid of counts or values of a head, as in a Reduction of this cloud alone.
    ExactGrid grid(int64_t part, const T* maxima, int64_t head, bool is_count) const {
        const double v = is_count ? 1.0 : static_cast<double>(maxima[this->n_row() + head]);
        constexpr double n_point = kernels::flare::chunk_points;
        return ExactGrid(n_chunk_global(part), n_point * v);
    }

    /// Maxima (H, M) of S and (H) of |v| of the chunks of a part.
    void set_maxima(int64_t part, bool is_good, T* maxima) {
        T* const v_maxima = maxima + this->n_row();
        std::fill_n(maxima, this->n_row(), lowest_score<T>());
        std::fill_n(v_maxima, sizes_.n_head, T(0));
        const Range own = is_good ? chunks(part) : Range{};
        for (int64_t chunk = own.begin; chunk < own.end; ++chunk) {
            for (int64_t head = 0; head < sizes_.n_head; ++head) {
                const T* const found = partial(chunk).maximum(head);
                T* const largest = maxima + head * sizes_.n_latent;
                for (int64_t m = 0; m < sizes_.n_latent; ++m)
                    largest[m] = std::max(largest[m], found[m]);
                v_maxima[head] = std::max(v_maxima[head], v_max(chunk)[head]);
            }
        }
    }

    void add_chunks(int64_t part, const T* maxima, int64_t* sums) {
        for (int64_t head = 0; head < sizes_.n_head; ++head) {
            const ExactGrid counts = grid(part, maxima, head, true),
                            values = grid(part, maxima, head, false);
            for (int64_t m = 0; m < sizes_.n_latent; ++m) {
                const int64_t i = head * sizes_.n_latent + m;
                int64_t* const to = sums + i * (sizes_.n_dim + 1);
                for (int64_t chunk = chunks(part).begin; chunk < chunks(part).end; ++chunk) {
                    const Partial<T> p = partial(chunk);
                    const double scale = exp2_exact(static_cast<double>(p.maximum(head)[m]) -
                                                    static_cast<double>(maxima[i]));
                    counts.add(static_cast<double>(p.sum(head)[m]) * scale, to, limb_stride());
                    for (int64_t d = 0; d < sizes_.n_dim; ++d)
                        values.add(static_cast<double>(p.value(head, d)[m]) * scale, to + 1 + d,
                                   limb_stride());
                }
            }
        }
    }

    void divide(int64_t part, int thread, const T* maxima, const int64_t* sums, T* z) {
        double* const row = rows_.data() + thread * (sizes_.n_dim + 1);
        for (int64_t i = 0; i < this->n_row(); ++i) {
            const int64_t head = i / sizes_.n_latent;
            const int64_t* const sum = sums + i * (sizes_.n_dim + 1);
            for (int64_t j = 0; j <= sizes_.n_dim; ++j)
                row[j] = grid(part, maxima, head, j == 0).value(sum + j, limb_stride());
            for (int64_t d = 0; d < sizes_.n_dim; ++d)
                z[i * sizes_.n_dim + d] = row[0] == 0 ? T(0) : static_cast<T>(row[1 + d] / row[0]);
        }
    }

    std::vector<Range> chunks_;       // (parts)
    std::vector<int64_t> first_sum_;  // (parts) in sums_, of shared ones
    Buffer<T> partials_;              // (chunks) partials
    Buffer<T> v_max_;                 // (chunks, H)
    Buffer<T> maxima_;                // (shared, H * M + H) of S and |v|, and a flag
    Buffer<int64_t> sums_;            // (shared) of (limbs, H * M, 1 + D)
    Buffer<T> own_maxima_;            // (n_thread) as maxima_, of a part that is not shared
    Buffer<int64_t> own_sums_;        // (n_thread, 2, H * M, 1 + D)
    Buffer<double> rows_;             // (n_thread, 1 + D)
};

}  // namespace

template <class T>
std::unique_ptr<CloudReduction<T>> reproducible_cloud_reduction(const Sizes& sizes,
                                                                const Queue& queue,
                                                                const CloudTiles& tiles) {
    return std::make_unique<ReproducibleCloudReduction<T>>(sizes, queue, tiles);
}

template std::unique_ptr<CloudReduction<float>> reproducible_cloud_reduction(const Sizes&,
                                                                             const Queue&,
                                                                             const CloudTiles&);
template std::unique_ptr<CloudReduction<double>> reproducible_cloud_reduction(const Sizes&,
                                                                              const Queue&,
                                                                              const CloudTiles&);

}  // namespace surrogate::impl::flare
