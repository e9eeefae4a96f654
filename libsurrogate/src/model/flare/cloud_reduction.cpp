// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/cloud_reduction.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/ranks/exact_sum.hpp"

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::lane_count;
using kernels::Queue;
using kernels::flare::exp2_exact;
using kernels::flare::lowest_score;
using kernels::flare::Partial;
using kernels::flare::Sizes;
using kernels::flare::Total;

namespace {

constexpr double chunk_points = kernels::flare::chunk_points;

/// Returns the number of values that are not finite. Compares integers: quiet, and it vectorizes.
template <class T>
int64_t count_infinite(const T* values, int64_t n) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits exponent = sizeof(T) == 4 ? Bits{0x7f800000} : Bits(0x7ff0000000000000);
    Bits count = 0;
    for (int64_t i = 0; i < n; ++i)
        count += (std::bit_cast<Bits>(values[i]) & exponent) == exponent ? 1 : 0;
    return static_cast<int64_t>(count);
}

/// z (M, D) of one head: quotients of rows (n_row) of values and the row of their count, in the
/// type that count_of() and value_of() return; 0 where the count is 0. Returns whether all are
/// finite.
template <class T, class From, class CountOf, class ValueOf>
bool divide_rows(const Sizes& sizes, const From* count, const CountOf& count_of,
                 const ValueOf& value_of, T* z) {
    using Number = decltype(count_of(*count));
    const int64_t n_row = sizes.n_row(), n_dim = sizes.n_dim;
    for (int64_t first = 0; first < sizes.n_latent; first += lane_count) {
        const int64_t n = std::min(lane_count, sizes.n_latent - first);
        Number divisor[lane_count], factor[lane_count];
        T quotient[lane_count];
        for (int64_t m = 0; m < lane_count; ++m) {
            const Number own = count_of(count[first + m]);
            divisor[m] = own == 0 ? Number(1) : own;
            factor[m] = own == 0 ? Number(0) : Number(1);
        }
        for (int64_t d = 0; d < n_dim; ++d) {
            const From* const value = count + (1 + d) * n_row + first;
            for (int64_t m = 0; m < lane_count; ++m)
                quotient[m] = static_cast<T>(value_of(value[m]) / divisor[m] * factor[m]);
            T* const to = z + first * n_dim + d;
            for (int64_t m = 0; m < n; ++m) to[m * n_dim] = quotient[m];
        }
    }
    return count_infinite(z, sizes.n_latent * n_dim) == 0;
}

/// The quotients of all heads of a Partial or Total in single or double precision.
template <class T, class Rows>
bool divide(const Rows& rows, T* z) {
    const Sizes& sizes = rows.sizes;
    const auto as_it_is = [](auto x) { return static_cast<T>(x); };
    bool is_finite = true;
    for (int64_t head = 0; head < sizes.n_head; ++head) {
        T* const to = z + head * sizes.n_latent * sizes.n_dim;
        is_finite &= divide_rows(sizes, rows.sum(head), as_it_is, as_it_is, to);
    }
    return is_finite;
}

template <class T>
bool is_finite(Partial<T> partial) {
    const Sizes& sizes = partial.sizes;
    int64_t n_infinite = 0;
    for (int64_t head = 0; head < sizes.n_head; ++head) {
        for (int64_t j = 0; j <= sizes.n_dim; ++j)
            n_infinite += count_infinite(partial.sum(head) + j * sizes.n_row(), sizes.n_latent);
    }
    return n_infinite == 0;
}

template <class T>
void fill_nan(T* values, int64_t n) {
    std::fill_n(values, n, std::numeric_limits<T>::quiet_NaN());
}

}  // namespace

template <class T>
bool latents_of(Partial<T> partial, const T* v_max, T* z) {
    if (!v_max) return divide(partial, z);
    const Sizes& sizes = partial.sizes;
    const int64_t n_z = sizes.n_latent * sizes.n_dim;
    if (!is_finite(partial)) {
        fill_nan(z, sizes.n_head * n_z);
        return false;
    }
    const ExactRounding count_of(chunk_points);
    for (int64_t head = 0; head < sizes.n_head; ++head) {
        const ExactRounding value_of(chunk_points * static_cast<double>(v_max[head]));
        divide_rows(sizes, partial.sum(head), count_of, value_of, z + head * n_z);
    }
    return true;
}

namespace {

/// Sizes and indices that both modes need.
template <class T>
class ReductionOfParts : public CloudReduction<T> {
public:
    int64_t collectives() const override { return n_shared_ > 0 ? 2 : 0; }

protected:
    ReductionOfParts(const Sizes& sizes, const Queue& queue, const CloudTiles& tiles)
        : sizes_(sizes), queue_(queue), tiles_(tiles) {}

    void count_parts() {
        n_shared_ = 0;
        shared_.assign(tiles_.divided().size(), -1);
        for (size_t p = 0; p < shared_.size(); ++p)
            if (tiles_.divided()[p].is_shared) shared_[p] = n_shared_++;
        is_finite_.resize(n_part());
    }

    int64_t n_part() const { return std::ssize(tiles_.divided()); }
    int64_t n_chunk() const { return std::ssize(tiles_.chunks()); }
    int64_t part_of(int64_t chunk) const {
        return tiles_.chunks()[static_cast<size_t>(chunk)].part;
    }
    bool is_shared(int64_t part) const { return shared(part) >= 0; }
    /// Number of a part among the shared ones.
    int64_t shared(int64_t part) const { return shared_[static_cast<size_t>(part)]; }
    int64_t n_row() const { return sizes_.n_head * sizes_.n_latent; }  ///< of z
    int64_t n_z() const { return n_row() * sizes_.n_dim; }

    /// body(part, thread), which returns whether its sums are finite. Returns whether all are.
    template <class Body>
    bool for_parts(const Body& body) {
        queue_.parallel_for(n_part(),
                            [&](int64_t p, int thread) { is_finite_[p] = body(p, thread); });
        return std::ranges::all_of(is_finite_, [](bool finite) { return finite; });
    }
    int64_t index_bytes() const {
        return is_finite_.bytes() + static_cast<int64_t>(shared_.capacity() * sizeof(int64_t));
    }

    Sizes sizes_;
    Queue queue_;
    const CloudTiles& tiles_;
    int64_t n_shared_ = 0;

private:
    std::vector<int64_t> shared_;  // (parts)
    Buffer<bool> is_finite_;       // (parts)
};

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
        if (poisoned) return fill_nan(sums, n_sum);
        if (totals(part).size() == 0) return std::fill_n(sums, n_sum, T(0)), void();
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
        return ExactGrid(n_chunk_global(part), chunk_points * v);
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
std::unique_ptr<CloudReduction<T>> fast_cloud_reduction(const Sizes& sizes, const Queue& queue,
                                                        const CloudTiles& tiles) {
    return std::make_unique<FastCloudReduction<T>>(sizes, queue, tiles);
}

template <class T>
std::unique_ptr<CloudReduction<T>> reproducible_cloud_reduction(const Sizes& sizes,
                                                                const Queue& queue,
                                                                const CloudTiles& tiles) {
    return std::make_unique<ReproducibleCloudReduction<T>>(sizes, queue, tiles);
}

template bool latents_of(Partial<float>, const float*, float*);
template bool latents_of(Partial<double>, const double*, double*);
template std::unique_ptr<CloudReduction<float>> fast_cloud_reduction(const Sizes&, const Queue&,
                                                                     const CloudTiles&);
template std::unique_ptr<CloudReduction<double>> fast_cloud_reduction(const Sizes&, const Queue&,
                                                                      const CloudTiles&);
template std::unique_ptr<CloudReduction<float>> reproducible_cloud_reduction(const Sizes&,
                                                                             const Queue&,
                                                                             const CloudTiles&);
template std::unique_ptr<CloudReduction<double>> reproducible_cloud_reduction(const Sizes&,
                                                                              const Queue&,
                                                                              const CloudTiles&);

}  // namespace surrogate::impl::flare
