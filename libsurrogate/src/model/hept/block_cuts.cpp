// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/block_cuts.hpp"

#include <algorithm>

#include "kernels/base/view.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::hept {

int64_t n_token_of(const Config& config, int64_t n) {
    return config.padding == Padding::duplicate ? kernels::round_up(n, config.block_size) : n;
}

int64_t n_ranked_of(const Config& config, int64_t n) {
    return config.padding == Padding::zero ? kernels::round_up(n, config.block_size) : n;
}

BlockCuts block_cuts(const Config& config, std::span<const int64_t> cloud_sizes, int size) {
    const auto n_block_of = [&](int64_t n) {
        return (n + config.block_size - 1) / config.block_size;
    };
    int64_t n_block = 0;
    for (const int64_t n : cloud_sizes) n_block += n_block_of(n);

    BlockCuts cuts;
    const auto n_cut = static_cast<size_t>(size + 1);
    for (int rank = 0; rank < size; ++rank)
        cuts.blocks.push_back(balanced_range(n_block, rank, size).begin);
    cuts.blocks.push_back(n_block);
    int64_t block = 0, place = 0, point = 0;
    for (const int64_t n : cloud_sizes) {
        while (cuts.places.size() < n_cut) {
            const int64_t next = cuts.blocks[cuts.places.size()] - block;
            if (next >= n_block_of(n)) break;
            cuts.places.push_back(place + next * config.block_size);
            cuts.points.push_back(point + std::min(next * config.block_size, n));
        }
        block += n_block_of(n);
        place += n_token_of(config, n);
        point += n;
    }
    cuts.places.resize(n_cut, place);
    cuts.points.resize(n_cut, point);
    return cuts;
}

}  // namespace surrogate::impl::hept
