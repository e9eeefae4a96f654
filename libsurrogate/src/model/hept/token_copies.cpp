// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/token_copies.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "libsurrogate/src/model/hept/block_cuts.hpp"
#include "libsurrogate/src/model/hept/row_cells.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"
#include "libsurrogate/src/ranks/parallel_sort.hpp"

namespace surrogate::impl::hept {

namespace {

/// Returns the sort keys: cloud, regions of row 0, id.
SortKeys keys_of(const Config& config, std::span<const float> regions, const HomeOrder& home) {
    constexpr uint64_t sign = uint64_t{1} << 63;
    const RowSlabs slabs = slabs_of(config, regions, 0);
    SortKeys keys(home.places.size(), 4);
    int64_t cloud = -1, size[2] = {1, 1};
    for (int64_t i = 0; i < keys.size(); ++i) {
        const Place& point = home.places[i];
        if (point.cloud != cloud) {
            cloud = point.cloud;
            const int64_t n = home.cloud_sizes[static_cast<size_t>(cloud)];
            for (int axis : {0, 1}) size[axis] = slab_size(slabs.along[axis], n);
        }
        keys[i][0] = static_cast<uint64_t>(cloud);
        keys[i][1] = static_cast<uint64_t>(point.rank[1] / size[1]);
        keys[i][2] = static_cast<uint64_t>(point.rank[0] / size[0]);
        keys[i][3] = static_cast<uint64_t>(point.id) ^ sign;
    }
    return keys;
}

[[noreturn]] void refuse_equal(std::span<const uint64_t> key) {
    throw Error(Status::internal,
                "copies of points: two points of cloud " + std::to_string(key[0]) + " are equal");
}

}  // namespace

std::vector<TokenCopy> token_copies(Communicator& comm, const Config& config,
                                    std::span<const float> regions, const HomeOrder& home) {
    std::vector<TokenCopy> copies;
    const bool is_padded = std::ranges::any_of(
        home.cloud_sizes, [&](int64_t n) { return n_token_of(config, n) != n; });
    if (!is_padded) return copies;
    SortKeys keys;
    comm.agree([&] { keys = keys_of(config, regions, home); });
    const std::vector<int64_t> positions = sorted_positions(comm, std::move(keys), refuse_equal);
    comm.agree([&] {
        int64_t cloud = 0, before = 0;  // cloud, and points of earlier clouds
        for (int64_t i = 0; i < home.places.size(); ++i) {
            for (; cloud < home.places[i].cloud; ++cloud)
                before += home.cloud_sizes[static_cast<size_t>(cloud)];
            const int64_t n = home.cloud_sizes[static_cast<size_t>(cloud)];
            const int64_t n_copy = n_token_of(config, n) - n;
            const int64_t position = positions[static_cast<size_t>(i)] - before;
            for (int64_t t = (position + config.block_size) % n; t < n_copy; t += n)
                copies.push_back({static_cast<int32_t>(i), t});
        }
    });
    return copies;
}

}  // namespace surrogate::impl::hept
