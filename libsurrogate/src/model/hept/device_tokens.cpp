// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/device_tokens.hpp"

#include <algorithm>

#include "libsurrogate/src/model/hept/copies.hpp"

namespace surrogate::impl::hept {

using kernels::hept::largest_chunk;

DeviceTokens::DeviceTokens(const Config& config, const TokenPlan& plan,
                           const std::vector<int64_t>& positions) {
    std::vector<int64_t> at_home(positions.size());  // the solver's point
    for (size_t i = 0; i < positions.size(); ++i)
        at_home[static_cast<size_t>(positions[i])] = static_cast<int64_t>(i);
    for (int64_t t = 0; t < plan.n_token(); ++t)
        points.push_back(at_home[static_cast<size_t>(point_of(plan, t))]);
    for (const TokenPlan::Block& block : plan.blocks())
        blocks.push_back({block.first, block.n, block.n_zero_key});
    members.reserve(static_cast<size_t>(config.n_row() * plan.n_token()));
    for (int64_t row = 0; row < config.n_row(); ++row) {
        const std::span<const int32_t> of_row = plan.members(row);
        members.insert(members.end(), of_row.begin(), of_row.end());
        for (const TokenPlan::Cell& cell : plan.cells(row))
            add({cell.to, static_cast<int32_t>(row), cell.begin, cell.end - cell.begin});
    }
    // The longest first, so that no block of threads begins with them when others are done.
    std::ranges::stable_sort(middle, std::ranges::greater(), &Cell::n);
}

void DeviceTokens::add(const Cell& cell) {
    if (cell.n <= kernels::hept::warp_cell) {
        small.push_back(cell);
    } else if (cell.n <= largest_chunk) {
        middle.push_back(cell);
        largest_middle = std::max<int64_t>(largest_middle, cell.n);
    } else {
        large.push_back({cell, n_key});
        largest = std::max<int64_t>(largest, cell.n);
        for (int32_t first = 0; first < cell.n; first += largest_chunk) {
            const auto n = std::min(static_cast<int32_t>(largest_chunk), cell.n - first);
            parts.push_back({n_key + first, cell.row, cell.begin + first, n});
        }
        n_key += cell.n;
    }
}

}  // namespace surrogate::impl::hept
