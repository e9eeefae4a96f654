// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "libsurrogate/src/ranks/split_order.hpp"
#include "libsurrogate/src/ranks/split_record.hpp"

namespace surrogate::impl {

/// Finishes a node whose points are all here, on one thread, without memory of its own.
template <class Record>
class SplitSubtree {
public:
    using Word = typename Record::Word;
    using Key = typename Record::Key;

    /// positions: of the point with each number.
    SplitSubtree(const SplitRule& rule, int64_t* positions)
        : rule_(rule), by_id_(rule.leaves_by_id()), positions_(positions) {}

    /// points, spare (node.n_point): in no order; overwritten.
    void finish(const SplitNode& node, Record* points, Record* spare) {
        const int64_t n = node.n_point;
        const int64_t left = rule_.left(n, node.depth);
        if (left <= 0 || left >= n) {
            sort(points, n, by_id_ ? -1 : node.axis);
            return place(points, n, node.first);
        }
        const int axis = Box<Record>({points, static_cast<size_t>(n)}).widest();
        const Key bound = bound_of(points, spare, n, left, axis);
        partition(points, spare, n, left, axis, bound);
        finish({node.first, left, node.depth + 1, axis}, spare, points);
        finish({node.first + left, n - left, node.depth + 1, axis}, spare + left, points + left);
    }

private:
    static constexpr int digit = 8;
    static constexpr int64_t few = 64;  // sorted faster than counted

    static void sort(Record* points, int64_t n, int axis) {
        std::sort(points, points + n, [axis](const Record& a, const Record& b) {
            return axis < 0 ? a.number < b.number : a.key(axis) < b.key(axis);
        });
    }

    void place(const Record* points, int64_t n, int64_t first) {
        for (int64_t i = 0; i < n; ++i) positions_[points[i].number] = first + i;
    }

    static Key nth(Record* points, int64_t n, int64_t rank, int axis) {
        std::nth_element(
            points, points + rank, points + n,
            [axis](const Record& a, const Record& b) { return a.key(axis) < b.key(axis); });
        return points[rank].key(axis);
    }

    /// The key below which `left` points lie.
    static Key bound_of(const Record* points, Record* spare, int64_t n, int64_t left, int axis) {
        std::copy_n(points, n, spare);
        return nth(spare, n, left, axis);
    }

    static void partition(const Record* points, Record* to, int64_t n, int64_t left, int axis,
                          Key bound) {
        int64_t to_left = 0, to_right = left;
        for (int64_t i = 0; i < n; ++i) {
            const bool goes_left = points[i].key(axis) < bound;
            to[goes_left ? to_left : to_right] = points[i];
            to_left += goes_left;
            to_right += !goes_left;
        }
    }

    const SplitRule& rule_;
    bool by_id_;
    int64_t* positions_;
};

}  // namespace surrogate::impl
