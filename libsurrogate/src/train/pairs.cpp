// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/pairs.hpp"

#include <algorithm>
#include <bit>

namespace surrogate::impl {

namespace {

constexpr int64_t word_bits = 64;
constexpr int64_t chunk = 1024;  // random pairs that a thread draws at once

int64_t n_word(int64_t n_bit) {
    return (n_bit + word_bits - 1) / word_bits;
}

/// Set of the points first .. first + n - 1 as bits.
struct PointSet {
    uint64_t* words;
    int64_t first, n;

    void clear() const { std::fill_n(words, n_word(n), uint64_t{0}); }
    void add(int32_t point) const {
        const int64_t bit = point - first;
        words[bit / word_bits] |= uint64_t{1} << (bit % word_bits);
    }
    void remove(int32_t point) const {
        const int64_t bit = point - first;
        words[bit / word_bits] &= ~(uint64_t{1} << (bit % word_bits));
    }
    /// Calls use(point) in ascending order.
    template <class Use>
    void for_each(const Use& use) const {
        for (int64_t i = 0; i < n_word(n); ++i)
            for (uint64_t word = words[i]; word != 0; word &= word - 1)
                use(static_cast<int32_t>(first + i * word_bits + std::countr_zero(word)));
    }
};

int64_t largest_cloud(const PairPoints& points) {
    int64_t largest = 0;
    for (size_t c = 0; c + 1 < points.cloud_begin.size(); ++c)
        largest = std::max(largest, points.cloud_begin[c + 1] - points.cloud_begin[c]);
    return largest;
}

}  // namespace

/// Converts counts to offsets: offset[u + 1] is the number of pairs of u, positive[u] the number of
/// its negative pairs.
void Pairs::Rows::add_up() {
    offset[0] = 0;
    for (int64_t u = 0; u < positive.size(); ++u) {
        positive[u] += offset[u];
        offset[u + 1] += offset[u];
    }
}

void Pairs::list(const PairPoints& points) {
    listed_.resize(0);
    find_neighbors(points);
    reverse_neighbors(points.n());
    n_listed_.resize(points.n());
    marks_.resize(queue_.n_thread() * 2 * n_word(largest_cloud(points)));
    last_.resize(queue_.n_thread() * points.n_particle());
    Rows rows = std::move(listed_);
    rows.resize(points.n());
    for_each_row(points, [&](int32_t u, const PointSet& row) {
        int64_t n = 0, n_counted = 0, n_positive = 0;
        row.for_each([&](int32_t v) {
            ++n;
            n_counted += points.counts(u, v) ? 1 : 0;
            n_positive += points.is_positive(u, v) ? 1 : 0;
        });
        n_listed_[u] = n;
        rows.offset[u + 1] = n_counted;
        rows.positive[u] = n_counted - n_positive;
    });
    rows.add_up();
    rows.point.resize(rows.offset[points.n()]);
    for_each_row(points, [&](int32_t u, const PointSet& row) {
        int64_t negative = rows.offset[u], positive = rows.positive[u];
        row.for_each([&](int32_t v) {
            if (!points.counts(u, v)) return;
            rows.point[points.is_positive(u, v) ? positive++ : negative++] = v;
        });
    });
    count_random(points);
    listed_ = std::move(rows);
}

/// Finds the nearest neighbors of each point.
void Pairs::find_neighbors(const PairPoints& points) {
    n_slot_ = std::max<int64_t>(0, std::min(most_neighbors_, largest_cloud(points) - 1));
    found_.resize(queue_.n_thread() * 2 * n_slot_);
    neighbor_.resize(points.n() * n_slot_);
    n_near_.resize(points.n());
    for (size_t c = 0; c + 1 < points.cloud_begin.size(); ++c) {
        const int64_t first = points.cloud_begin[c], n = points.cloud_begin[c + 1] - first;
        const auto begin = static_cast<size_t>(first), count = static_cast<size_t>(n);
        tree_.build(points.x.subspan(begin, count), points.y.subspan(begin, count));
        queue_.parallel_for(n, [&](int64_t i, int thread) {
            PlaneTree::Neighbor* const found = found_.data() + thread * 2 * n_slot_;
            const int64_t n_found = tree_.find(static_cast<int32_t>(i), radius_, n_slot_,
                                               {found, static_cast<size_t>(2 * n_slot_)});
            n_near_[first + i] = static_cast<int32_t>(n_found);
            for (int64_t k = 0; k < n_found; ++k)
                neighbor_[(first + i) * n_slot_ + k] = static_cast<int32_t>(first) + found[k].point;
        });
    }
}

/// Lists for each point the points of which it is a neighbor.
void Pairs::reverse_neighbors(int64_t n_point) {
    reverse_begin_.resize(n_point + 2);
    std::fill(reverse_begin_.begin(), reverse_begin_.end(), int64_t{0});
    const auto for_each = [&](const auto& use) {
        for (int64_t u = 0; u < n_point; ++u)
            for (int64_t k = 0; k < n_near_[u]; ++k) use(u, neighbor_[u * n_slot_ + k]);
    };
    // Counts stored two elements further become starts one element further, and, while points are
    // inserted, starts.
    for_each([&](int64_t, int32_t v) { ++reverse_begin_[v + 2]; });
    for (int64_t v = 2; v < n_point + 2; ++v) reverse_begin_[v] += reverse_begin_[v - 1];
    reverse_.resize(reverse_begin_[n_point + 1]);
    for_each(
        [&](int64_t u, int32_t v) { reverse_[reverse_begin_[v + 1]++] = static_cast<int32_t>(u); });
}

/// Calls use(v) for the neighbors v of a point, for some of them twice.
template <class Use>
void Pairs::for_each_neighbor(int32_t point, const Use& use) const {
    const int64_t u = point;
    for (int64_t k = 0; k < n_near_[u]; ++k) use(neighbor_[u * n_slot_ + k]);
    for (int64_t k = reverse_begin_[u]; k < reverse_begin_[u + 1]; ++k) use(reverse_[k]);
}

/// Calls use(u, row) with the listed second points of each point u, by several threads. A point has
/// pairs with the hits of its particle and their neighbors and, in reverse, with all hits of the
/// particles of its own neighbors.
template <class Use>
void Pairs::for_each_row(const PairPoints& points, const Use& use) {
    std::fill(last_.begin(), last_.end(), -1);
    const int64_t n_most = n_word(largest_cloud(points));
    queue_.parallel_for(points.n_particle(), [&](int64_t particle, int thread) {
        const std::span<const int32_t> hits = points.hits(static_cast<int32_t>(particle));
        const auto cloud =
            std::upper_bound(points.cloud_begin.begin(), points.cloud_begin.end(), hits.front());
        uint64_t* const marks = marks_.data() + thread * 2 * n_most;
        const int64_t first = *(cloud - 1), n = *cloud - first;
        const PointSet track{marks, first, n}, row{marks + n_most, first, n};
        int32_t* const last = last_.data() + thread * points.n_particle();
        track.clear();
        for (const int32_t u : hits) {
            if (hits.size() < 2) break;
            track.add(u);
            for_each_neighbor(u, [&](int32_t v) { track.add(v); });
        }
        for (const int32_t u : hits) {
            std::copy_n(track.words, n_word(n), row.words);
            for_each_neighbor(u, [&](int32_t v) {
                const int32_t other = points.particle[static_cast<size_t>(v)];
                if (last[other] == u) return;
                last[other] = u;
                const std::span<const int32_t> others = points.hits(other);
                if (others.size() < 2) return;
                for (const int32_t w : others) row.add(w);
            });
            row.remove(u);
            use(u, row);
        }
    });
}

/// Computes the number of random pairs of each cloud.
void Pairs::count_random(const PairPoints& points) {
    random_begin_.resize(points.n_cloud() + 1);
    random_begin_[0] = 0;
    for (int64_t c = 0; c < points.n_cloud(); ++c) {
        int64_t n = 0;
        const auto at = static_cast<size_t>(c);
        for (int64_t u = points.cloud_begin[at]; u < points.cloud_begin[at + 1]; ++u)
            n += n_listed_[u];
        random_begin_[c + 1] =
            random_begin_[c] + static_cast<int64_t>(random_ * static_cast<double>(n));
    }
}

/// Draws the two points of each random pair.
void Pairs::draw(const PairPoints& points, const Random& random) {
    const int64_t n_pair = random_begin_[points.n_cloud()];
    ends_.resize(2 * n_pair);
    queue_.parallel_for((n_pair + chunk - 1) / chunk, [&](int64_t item, int) {
        const int64_t end = std::min(n_pair, (item + 1) * chunk);
        for (int64_t k = item * chunk, c = 0; k < end; ++k) {
            if (k >= random_begin_[c + 1])
                c = std::upper_bound(random_begin_.begin(), random_begin_.end(), k) -
                    random_begin_.begin() - 1;
            const int64_t first = points.cloud_begin[static_cast<size_t>(c)];
            const int64_t n = points.cloud_begin[static_cast<size_t>(c) + 1] - first;
            for (int64_t i = 2 * k; i < 2 * k + 2; ++i)
                ends_[i] = static_cast<int32_t>(first + random.below(n, i));
        }
    });
}

/// Groups the random pairs, in both directions, by their first points.
void Pairs::group_drawn(const PairPoints& points) {
    const int64_t n = points.n();
    drawn_.resize(n + 1);
    std::fill(drawn_.offset.begin(), drawn_.offset.end(), int64_t{0});
    const auto for_each = [&](const auto& use) {
        for (int64_t k = 0; k < ends_.size(); k += 2) {
            const int32_t u = ends_[k], v = ends_[k + 1];
            if (!points.counts(u, v)) continue;
            use(u, v);
            if (u != v) use(v, u);
        }
    };
    for_each([&](int32_t u, int32_t) { ++drawn_.offset[u + 2]; });
    for (int64_t u = 2; u < n + 2; ++u) drawn_.offset[u] += drawn_.offset[u - 1];
    drawn_.point.resize(ends_.size());
    for_each([&](int32_t u, int32_t v) { drawn_.point[drawn_.offset[u + 1]++] = v; });
}

void Pairs::add_random(const PairPoints& points, const Random& random) {
    const int64_t n = points.n();
    all_.resize(0);
    draw(points, random);
    group_drawn(points);
    Rows rows = std::move(all_);
    rows.resize(n);
    rows.point.resize(listed_.offset[n] + ends_.size());
    // The negative pairs of a row first, and each pair once.
    queue_.parallel_for(n, [&](int64_t row, int) {
        const auto u = static_cast<int32_t>(row);
        int32_t* const begin = drawn_.point.data() + drawn_.offset[u];
        int32_t* end = drawn_.point.data() + drawn_.offset[u + 1];
        std::sort(begin, end, [&](int32_t v, int32_t w) {
            return std::pair(points.is_positive(u, v), v) < std::pair(points.is_positive(u, w), w);
        });
        end = std::unique(begin, end);
        const int64_t n_negative =
            std::partition_point(begin, end, [&](int32_t v) { return !points.is_positive(u, v); }) -
            begin;
        drawn_.positive[u] = n_negative;
        rows.positive[u] = listed_.positive[u] - listed_.offset[u] + n_negative;
        rows.offset[u + 1] = listed_.offset[u + 1] - listed_.offset[u] + (end - begin);
    });
    rows.add_up();
    queue_.parallel_for(n, [&](int64_t u, int) {
        const int32_t* const old = listed_.point.data();
        const int32_t* const drawn = drawn_.point.data() + drawn_.offset[u];
        const int64_t n_drawn =
            rows.offset[u + 1] - rows.offset[u] - (listed_.offset[u + 1] - listed_.offset[u]);
        int32_t* const to = rows.point.data();
        std::merge(old + listed_.offset[u], old + listed_.positive[u], drawn,
                   drawn + drawn_.positive[u], to + rows.offset[u]);
        std::merge(old + listed_.positive[u], old + listed_.offset[u + 1],
                   drawn + drawn_.positive[u], drawn + n_drawn, to + rows.positive[u]);
    });
    all_ = std::move(rows);
}

int64_t Pairs::bytes() const {
    return tree_.bytes() + found_.bytes() + neighbor_.bytes() + n_near_.bytes() +
           reverse_begin_.bytes() + reverse_.bytes() + marks_.bytes() + last_.bytes() +
           n_listed_.bytes() + random_begin_.bytes() + ends_.bytes() + listed_.bytes() +
           drawn_.bytes() + all_.bytes();
}

}  // namespace surrogate::impl
