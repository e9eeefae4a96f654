// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl {

/// Cut of the values of all ranks into the `n_left` smallest and the others.
struct Selection {
    std::span<uint64_t> values;  ///< of this rank; left in another order, some overwritten
    int n_bit = 64;              ///< the values of all ranks are below 2^n_bit
    int64_t n_left = 0;          ///< at least 1, fewer than there are values on all ranks

    /// Found: n_below <= n_left values are less than `bound`. If there are fewer, then the values
    /// equal to `bound` are tied, and some of them are left, some are not.
    uint64_t bound = 0;
    int64_t n_below = 0;
};

/// Finds the bounds of all selections at once. The number of selections, n_bit and n_left are the
/// same on all ranks, and so is what is found. Collective; throws no_memory on all ranks.
///
/// Method: histograms of digits of 11 bits (8 if there are many selections), one reduction a digit
/// for all selections; after each digit only values that may still be the bound are kept.
void select_values(Communicator& comm, const kernels::Queue& queue,
                   std::span<Selection> selections);

}  // namespace surrogate::impl
