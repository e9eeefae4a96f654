// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "libsurrogate/src/ranks/split_order.hpp"
#include "libsurrogate/src/ranks/split_record.hpp"

namespace surrogate::impl {

/// Finishes nodes whose points are all here, on one thread, without memory of its own.
template <class Record>
class SplitSubtree {
public:
    using Word = typename Record::Word;
    using Key = typename Record::Key;

    /// Keeps references. positions: of the point with each number, written by finish().
    SplitSubtree(const SplitRule& rule, int64_t* positions)
        : rule_(rule), by_id_(rule.leaves_by_id()), positions_(positions) {}

    /// Splits a node down to its leaves. points, spare (node.n_point): the points in any order, and
    /// as much memory again; both are overwritten. is_sorted: the points are in the order of their
    /// parent's split.
    void finish(const SplitNode& node, Record* points, Record* spare, bool is_sorted = false) {
        const int64_t n = node.n_point;
        const int64_t left = rule_.left(n, node.depth);
        if (left <= 0 || left >= n) return finish_leaf(points, node, is_sorted);
        const Box<Record> box({points, static_cast<size_t>(n)});
        const int axis = box.widest();
        is_sorted = n <= few;
        if (is_sorted) {
            sort_few(points, n, axis, spare);
        } else {
            cut(points, n, left, axis, box.low[axis], box.high[axis], spare);
        }
        finish({node.first, left, node.depth + 1, axis}, spare, points, is_sorted);
        finish({node.first + left, n - left, node.depth + 1, axis}, spare + left, points + left,
               is_sorted);
    }

private:
    static constexpr int64_t few = 8;  // 6 .. 16 are equally fast
    static constexpr int most_bits = 10;

    static auto by_key(int axis) {
        return [axis](const Record& a, const Record& b) { return a.key(axis) < b.key(axis); };
    }

    void finish_leaf(Record* points, const SplitNode& node, bool is_sorted) {
        const int64_t n = node.n_point;
        if (by_id_ || node.axis < 0) {
            std::sort(points, points + n,
                      [](const Record& a, const Record& b) { return a.number < b.number; });
        } else if (!is_sorted) {
            std::sort(points, points + n, by_key(node.axis));
        }
        for (int64_t i = 0; i < n; ++i) positions_[points[i].number] = node.first + i;
    }

    /// Sorts by counting the smaller keys of each point: no branch depends on the points.
    static void sort_few(const Record* points, int64_t n, int axis, Record* to) {
        Key keys[few];
        int64_t places[few];
        for (int64_t i = 0; i < n; ++i) {
            keys[i] = points[i].key(axis);
            places[i] = 0;
            for (int64_t j = 0; j < i; ++j) {
                const bool is_less = keys[i] < keys[j];
                places[i] += !is_less;
                places[j] += is_less;
            }
        }
        for (int64_t i = 0; i < n; ++i) to[places[i]] = points[i];
    }

    /// Writes the first `left` points to the front, and the others behind them; low and high are
    /// the ends of their keys. A histogram of leading digits tells in which bin the cut is. The few
    /// points of this bin, between all others, are cut again.
    static void cut(Record* points, int64_t n, int64_t left, int axis, Word low, Word high,
                    Record* to) {
        std::array<int64_t, size_t{1} << most_bits> counts;
        const int n_bit = std::bit_width(static_cast<Word>(high - low));
        const int digit = std::min(
            {most_bits, n_bit, static_cast<int>(std::bit_width(static_cast<uint64_t>(n)))});
        const int shift = n_bit - digit;
        const auto bin_of = [&](const Record& point) {
            return static_cast<size_t>(static_cast<Word>(point.x[axis] - low) >> shift);
        };
        std::fill_n(counts.begin(), size_t{1} << digit, int64_t{0});
        for (int64_t i = 0; i < n; ++i) ++counts[bin_of(points[i])];
        size_t bin = 0;
        int64_t n_below = 0;
        while (n_below + counts[bin] <= left) n_below += counts[bin++];
        const int64_t n_middle = counts[bin];
        scatter(points, n, bin, bin_of, to, n_below, n_middle);
        left -= n_below;
        if (left == 0) return;
        Record* const middle = to + n_below;
        if (n_middle > few && shift > 0) {
            low = static_cast<Word>(low + (static_cast<Word>(bin) << shift));
            high = static_cast<Word>(low + ((Word{1} << shift) - 1));
            cut(middle, n_middle, left, axis, low, high, points);
            std::copy_n(points, n_middle, middle);
        } else {
            std::nth_element(middle, middle + left, middle + n_middle, by_key(axis));
        }
    }

    /// Copies points below the bin to the front, then the points of the bin, then the points above.
    template <class BinOf>
    static void scatter(const Record* points, int64_t n, size_t bin, const BinOf& bin_of,
                        Record* to, int64_t n_below, int64_t n_middle) {
        int64_t below = 0, middle = n_below, above = n_below + n_middle;
        for (int64_t i = 0; i < n; ++i) {
            const size_t b = bin_of(points[i]);
            if (b == bin) [[unlikely]] {
                to[middle++] = points[i];
                continue;
            }
            // Arithmetic: a branch would be guessed wrong half of the time.
            const int64_t is_above = b > bin;
            to[below ^ ((below ^ above) & -is_above)] = points[i];
            above += is_above;
            below += 1 - is_above;
        }
    }

    const SplitRule& rule_;
    bool by_id_;
    int64_t* positions_;
};

}  // namespace surrogate::impl
