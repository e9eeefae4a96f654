// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::bsa {

/// The slots of a ball tree: how many there are, which point of the tree's order stands in each,
/// and which rank has which. All of it follows from the number of points alone.
///
/// A tree of N points has n0 slots, the smallest power of two that holds them. Leaves have two
/// slots and one or two points; the second slot of a leaf with one point is a copy. Small clouds
/// repeat each slot in its place until there are n = max(n0, min_slots); only the first one counts
/// as the original. "Position" of a point: its place in the order of the leaves, 0 .. N - 1.
/// Without points there are no slots.
class Slots {
public:
    Slots() = default;
    /// min_slots: a power of two.
    Slots(int64_t n_point, int64_t min_slots);
    /// Points in an order of their own are the slots: no copies.
    static Slots without_copies(int64_t n_point);

    int64_t n_point() const { return n_point_; }
    int64_t n_slot() const { return n_slot_; }
    /// Slots before the repetition: n0 of the tree.
    int64_t n_tree_slot() const { return n_slot_ / n_repeat_; }

    struct Entry {
        int64_t position = 0;
        bool is_original = false;
    };
    Entry at(int64_t slot) const;
    /// Originals in slots 0 .. slot - 1: the position of the first one from there on.
    int64_t points_before(int64_t slot) const;

    /// Slots of each rank (size + 1), as RowRoute takes them: whole balls of `ball_size` slots,
    /// balanced. Clouds whose slots are repeated, or that have no more than one ball, are one
    /// rank's.
    std::vector<int64_t> begins(int64_t ball_size, int size) const;
    /// The same in positions.
    std::vector<int64_t> point_begins(const std::vector<int64_t>& slot_begins) const;

private:
    bool has_two_points(int64_t leaf) const;

    int64_t n_point_ = 0, n_slot_ = 0;
    int64_t n_repeat_ = 1;
    bool has_copies_ = true;
    int n_level_ = 0;  // of the tree: 2^n_level leaves
};

}  // namespace surrogate::impl::bsa
