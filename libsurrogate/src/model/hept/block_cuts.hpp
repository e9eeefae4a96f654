// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/model/hept/config.hpp"

namespace surrogate::impl::hept {

/// Tokens of a cloud of n points: with its copies (Padding::duplicate), without keys of zeros.
int64_t n_token_of(const Config& config, int64_t n);

/// Points that regions count in a cloud of n: with keys of zeros (Padding::zero), which take the
/// last ranks, and without copies.
int64_t n_ranked_of(const Config& config, int64_t n);

/// Partition of the blocks of a row over the ranks, by balanced_range: the first block of each
/// rank, the first place, and the point whose number is nearest to it (size + 1 each; the last
/// entries are the numbers of all).
struct BlockCuts {
    std::vector<int64_t> blocks, places, points;
};

/// cloud_sizes (n_cloud): points.
BlockCuts block_cuts(const Config& config, std::span<const int64_t> cloud_sizes, int size);

}  // namespace surrogate::impl::hept
