// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/core/random.hpp"

namespace surrogate::impl {

/// At most `capacity` of all samples that were ever given, each with equal chance, as this rank has
/// them: columns of 8-byte numbers. Which sample goes where depends on seed and counts alone; fewer
/// than 2^31 are given.
/// Source: J. S. Vitter, "Random sampling with a reservoir", algorithm R.
class Reservoir {
public:
    Reservoir() = default;
    /// Starts empty. stream: number of the reservoir among several of the seed.
    Reservoir(int64_t capacity, int64_t seed, int64_t stream)
        : capacity_(capacity),
          random_(static_cast<uint64_t>(seed), static_cast<uint64_t>(stream)) {}

    struct Slot {
        kernels::Buffer<double> numbers;  // inputs, targets; integers as their bits
        int64_t revision = 0;             // of the points
    };

    /// Returns the slot of the next sample; -1: it is not stored.
    int64_t next_slot() const;
    /// Records that the sample was written to the slot of next_slot(), or was not stored.
    void note_given(int64_t slot);
    /// Returns slot `slot`, or a new one behind the last. Throws bad_alloc.
    Slot& slot(int64_t slot);

    /// Draws a slot for the next sample of a step; there is one.
    int64_t draw();
    /// Reverts the last draw().
    void undo_draw() { --n_drawn_; }

    int64_t n_kept() const { return n_kept_; }
    int64_t n_given() const { return n_given_; }
    int64_t n_drawn() const { return n_drawn_; }
    int64_t capacity() const { return capacity_; }
    int64_t bytes() const;

    /// Sets the counts of a checkpoint.
    void set_counts(int64_t n_kept, int64_t n_given, int64_t n_drawn);

private:
    int64_t capacity_ = 0;
    Random random_{0, 0};
    std::vector<Slot> slots_;
    int64_t n_kept_ = 0, n_given_ = 0, n_drawn_ = 0;
};

}  // namespace surrogate::impl
