// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>

namespace surrogate::impl {

// Integers in the order of the coordinates. A word of 32 bits does for doubles that are floats.

template <class Word>
Word key_of(double x);

template <>
inline uint64_t key_of<uint64_t>(double x) {
    constexpr uint64_t sign = uint64_t{1} << 63;
    auto bits = std::bit_cast<uint64_t>(x);
    if (bits == sign) bits = 0;  // -0.0 is +0.0
    return bits & sign ? ~bits : bits | sign;
}

template <>
inline uint32_t key_of<uint32_t>(double x) {
    constexpr uint32_t sign = uint32_t{1} << 31;
    auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
    if (bits == sign) bits = 0;
    return bits & sign ? ~bits : bits | sign;
}

inline double coordinate_of(uint64_t key) {
    constexpr uint64_t sign = uint64_t{1} << 63;
    return std::bit_cast<double>(key & sign ? key ^ sign : ~key);
}

inline double coordinate_of(uint32_t key) {
    constexpr uint32_t sign = uint32_t{1} << 31;
    return static_cast<double>(std::bit_cast<float>(key & sign ? key ^ sign : ~key));
}

template <class Word>
struct TwoWords;
template <>
struct TwoWords<uint32_t> {
    using Type = uint64_t;
};
template <>
struct TwoWords<uint64_t> {
    __extension__ typedef unsigned __int128 Type;
};

/// A point during construction of the tree: keys of its coordinates, and the number of its id among
/// the ids of the rank, which breaks ties.
template <class Word_, int n_axis_>
struct SplitRecord {
    using Word = Word_;
    static constexpr int n_axis = n_axis_;
    using Key = typename TwoWords<Word>::Type;

    Word x[n_axis];
    Word number;

    /// Returns the sort key: by coordinate, then by id.
    Key key(int axis) const { return join(x[axis], number); }
    static Key join(Word x, Word number) {
        return static_cast<Key>(static_cast<Key>(x) << std::numeric_limits<Word>::digits | number);
    }
};

/// Smallest and largest keys of some points; low > high if there are none.
template <class Record>
struct Box {
    using Word = typename Record::Word;
    static constexpr int n_axis = Record::n_axis;
    Word low[n_axis], high[n_axis];

    Box() {
        for (int axis = 0; axis < n_axis; ++axis) {
            low[axis] = std::numeric_limits<Word>::max();
            high[axis] = 0;
        }
    }
    explicit Box(std::span<const Record> points) : Box() {
        for (const Record& point : points) {
            for (int axis = 0; axis < n_axis; ++axis) {
                low[axis] = point.x[axis] < low[axis] ? point.x[axis] : low[axis];
                high[axis] = point.x[axis] > high[axis] ? point.x[axis] : high[axis];
            }
        }
    }

    void join(const Box& other) {
        for (int axis = 0; axis < n_axis; ++axis) {
            low[axis] = std::min(low[axis], other.low[axis]);
            high[axis] = std::max(high[axis], other.high[axis]);
        }
    }

    /// Returns the axis of the largest extent, the lowest of several.
    int widest() const {
        int best = 0;
        double largest = 0;
        for (int axis = 0; axis < n_axis; ++axis) {
            const double extent = coordinate_of(high[axis]) - coordinate_of(low[axis]);
            if (!(extent > largest)) continue;
            largest = extent;
            best = axis;
        }
        return best;
    }
};

/// A node of the tree on its way to be cut.
struct SplitNode {
    int64_t first = 0;    ///< position of its first point
    int64_t n_point = 0;  ///< of all ranks
    int depth = 0;
    int axis = -1;             ///< of its parent's split; -1: it has no parent
    int64_t begin = 0;         ///< where its points on this rank begin
    int64_t n_own = 0;         ///< points on this rank
    bool is_in_spare = false;  ///< where they lie, see SplitShare

    int64_t end() const { return begin + n_own; }
};

}  // namespace surrogate::impl
