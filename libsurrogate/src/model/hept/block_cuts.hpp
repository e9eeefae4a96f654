// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/model/hept/config.hpp"

namespace surrogate::impl::hept {

/// Returns the number of tokens of a cloud of n points: copies are included (Padding::duplicate),
/// keys of zeros are not.
int64_t n_token_of(const Config& config, int64_t n);

/// Returns the number of points that regions count in a cloud of n points: keys of zeros are
/// included (Padding::zero; they have the last ranks), copies are not.
int64_t n_ranked_of(const Config& config, int64_t n);

/// Partition of the blocks of a row over the ranks, by balanced_range. Holds for each rank the
/// first block, the first sorted position, and the point whose number is nearest to this position
/// (size + 1 each; the last entries are the totals).
struct BlockCuts {
    std::vector<int64_t> blocks, places, points;
};

/// Computes the partition for `size` ranks from cloud_sizes (n_cloud), points per cloud. Local.
BlockCuts block_cuts(const Config& config, std::span<const int64_t> cloud_sizes, int size);

}  // namespace surrogate::impl::hept
