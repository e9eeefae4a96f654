// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/home_order.hpp"

namespace surrogate::impl::hept {

/// A copy of a point of this rank.
struct TokenCopy {
    int32_t point = 0;
    int64_t number = 0;  ///< t, within its cloud
};

/// Computes the copies that fill the last blocks of clouds, for the points of this rank (by
/// ascending point, then number): copy t of a cloud of n points is the point at position (n - B +
/// t) mod n of its points sorted by the cells of row 0 and ids. Returns an empty list unless the
/// padding is Padding::duplicate.
/// Collective: one sort over the ranks. Throws no_memory on all ranks.
std::vector<TokenCopy> token_copies(Communicator& comm, const Config& config,
                                    std::span<const float> regions, const HomeOrder& home);

}  // namespace surrogate::impl::hept
