// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::bsa {

/// Slots of a ball tree: their number, the point of the tree's order in each slot, and the rank
/// that owns it. All of these depend on the number of points only.
///
/// A tree of N points has n0 slots, the smallest power of two that holds the points. Leaves have
/// two slots and one or two points; the second slot of a leaf with one point is a copy. Small
/// clouds repeat each slot in place until there are n = max(n0, min_slots) slots; only the first
/// repetition counts as the original. The position of a point is its index in the order of the
/// leaves, 0 .. N - 1. Without points there are no slots.
class Slots {
public:
    Slots() = default;
    /// Creates the slots of n_point points. min_slots: a power of two.
    Slots(int64_t n_point, int64_t min_slots);
    /// Returns slots that are the points in their own order, without copies.
    static Slots without_copies(int64_t n_point);

    int64_t n_point() const { return n_point_; }
    int64_t n_slot() const { return n_slot_; }
    /// Returns the number of slots before the repetition: n0 of the tree.
    int64_t n_tree_slot() const { return n_slot_ / n_repeat_; }

    struct Entry {
        int64_t position = 0;
        bool is_original = false;
    };
    Entry at(int64_t slot) const;
    /// Returns the number of originals in slots 0 .. slot - 1, which is the position of the first
    /// original from `slot` on.
    int64_t points_before(int64_t slot) const;

    /// Returns the first slot of each rank (size + 1), in the form that RowRoute expects: whole
    /// balls of `ball_size` slots, balanced. One rank owns all slots if slots are repeated or there
    /// is at most one ball.
    std::vector<int64_t> begins(int64_t ball_size, int size) const;
    /// Converts slot_begins to positions.
    std::vector<int64_t> point_begins(const std::vector<int64_t>& slot_begins) const;

private:
    bool has_two_points(int64_t leaf) const;

    int64_t n_point_ = 0, n_slot_ = 0;
    int64_t n_repeat_ = 1;
    bool has_copies_ = true;
    int n_level_ = 0;  // levels of the tree: 2^n_level leaves
};

}  // namespace surrogate::impl::bsa
