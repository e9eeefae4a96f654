// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/slots.hpp"

#include <algorithm>
#include <bit>

namespace surrogate::impl::bsa {

namespace {

/// Returns the lowest n_bit bits of `value` in reverse order.
int64_t reversed(int64_t value, int n_bit) {
    int64_t result = 0;
    for (int bit = 0; bit < n_bit; ++bit) result |= ((value >> bit) & 1) << (n_bit - 1 - bit);
    return result;
}

}  // namespace

Slots::Slots(int64_t n_point, int64_t min_slots) : n_point_(n_point) {
    if (n_point == 0) return;
    const int64_t n_tree =
        std::max<int64_t>(2, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n_point))));
    n_slot_ = std::max(n_tree, min_slots);
    n_repeat_ = n_slot_ / n_tree;
    n_level_ = std::countr_zero(static_cast<uint64_t>(n_tree)) - 1;
}

Slots Slots::without_copies(int64_t n_point) {
    Slots slots;
    slots.n_point_ = slots.n_slot_ = n_point;
    slots.has_copies_ = false;
    return slots;
}

/// Returns true if a leaf has two points. A node of p points has floor(p/2) points in the left
/// child, floor((p+1)/2) in the right one. After all levels leaf i has
/// floor((N + rev(i)) / 2^n_level) points, where rev reverses its bits.
bool Slots::has_two_points(int64_t leaf) const {
    return ((n_point_ + reversed(leaf, n_level_)) >> n_level_) >= 2;
}

Slots::Entry Slots::at(int64_t slot) const {
    if (!has_copies_) return {slot, true};
    const int64_t tree_slot = slot / n_repeat_;
    const bool is_first = slot % n_repeat_ == 0;
    const int64_t leaf = tree_slot / 2, before = points_before(2 * leaf * n_repeat_);
    if (tree_slot % 2 == 0) return {before, is_first};
    const bool is_two = has_two_points(leaf);
    return {before + (is_two ? 1 : 0), is_first && is_two};
}

int64_t Slots::points_before(int64_t slot) const {
    if (!has_copies_) return slot;
    if (n_point_ == 0) return 0;
    const int64_t tree_slot = (slot + n_repeat_ - 1) / n_repeat_;
    if (tree_slot >= n_tree_slot()) return n_point_;
    const int64_t leaf = tree_slot / 2;
    int64_t before = 0, p = n_point_;
    for (int level = n_level_ - 1; level >= 0; --level) {
        const bool is_right = (leaf >> level) & 1;
        if (is_right) before += p / 2;
        p = is_right ? p - p / 2 : p / 2;
    }
    // Leaves have one or two points.
    return before + (tree_slot % 2 == 1 ? 1 : 0);
}

std::vector<int64_t> Slots::begins(int64_t ball_size, int size) const {
    const int64_t unit = n_repeat_ > 1 ? n_slot_ : ball_size;
    return block_begins(n_slot_, std::max<int64_t>(1, unit), size);
}

std::vector<int64_t> Slots::point_begins(const std::vector<int64_t>& slot_begins) const {
    std::vector<int64_t> begins;
    for (const int64_t slot : slot_begins) begins.push_back(points_before(slot));
    return begins;
}

}  // namespace surrogate::impl::bsa
