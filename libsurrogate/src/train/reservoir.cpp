// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/reservoir.hpp"

#include <algorithm>

namespace surrogate::impl {

int64_t Reservoir::next_slot() const {
    if (capacity_ == 0) return -1;
    if (n_given_ < capacity_) return n_given_;
    // Even numbers of the sequence choose places, odd ones draw.
    const int64_t place = random_.below(n_given_ + 1, 2 * n_given_);
    return place < capacity_ ? place : -1;
}

Reservoir::Slot& Reservoir::slot(int64_t slot) {
    if (slot >= std::ssize(slots_)) slots_.resize(static_cast<size_t>(slot + 1));
    return slots_[static_cast<size_t>(slot)];
}

void Reservoir::note_given(int64_t slot) {
    ++n_given_;
    n_kept_ = std::max(n_kept_, slot + 1);
}

int64_t Reservoir::draw() {
    return random_.below(n_kept_, 2 * n_drawn_++ + 1);
}

void Reservoir::set_counts(int64_t n_kept, int64_t n_given, int64_t n_drawn) {
    n_kept_ = n_kept;
    n_given_ = n_given;
    n_drawn_ = n_drawn;
}

int64_t Reservoir::bytes() const {
    int64_t n = 0;
    for (const Slot& slot : slots_) n += slot.numbers.bytes();
    return n;
}

}  // namespace surrogate::impl
