// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/device_tokens.hpp"

#include <algorithm>

#include "libsurrogate/src/model/hept/copies.hpp"

namespace surrogate::impl::hept {

using kernels::hept::largest_chunk;

namespace {

/// Returns the position at which a cell would begin if this rank had all its positions.
int64_t begin_of(const TokenPlan::Cell& cell) {
    return int64_t{cell.to} - cell.first;
}

}  // namespace

DeviceTokens::DeviceTokens(const Config& config, const TokenPlan& plan,
                           std::span<const int64_t> columns) {
    for (int64_t t = 0; t < plan.n_own(); ++t)
        points.push_back(columns[static_cast<size_t>(point_of(plan, t))]);
    int64_t n_before = 0, end = plan.n_place();  // positions, relative to this rank's first
    for (int64_t row = 0; row < config.n_row(); ++row) {
        n_member = std::max(n_member, std::ssize(plan.members(row)));
        for (const TokenPlan::Cell& cell : plan.cells(row)) {
            n_before = std::max(n_before, -begin_of(cell));
            end = std::max(end, begin_of(cell) + cell.end - cell.begin);
        }
    }
    n_place = n_before + end;
    for (const TokenPlan::Block& block : plan.blocks())
        blocks.push_back({n_before + block.first, block.n, block.n_zero_key});
    members.resize(static_cast<size_t>(config.n_row() * n_member));
    for (int64_t row = 0; row < config.n_row(); ++row) {
        std::ranges::copy(plan.members(row), members.begin() + row * n_member);
        for (const TokenPlan::Cell& cell : plan.cells(row))
            add({n_before + begin_of(cell), static_cast<int32_t>(row), cell.begin,
                 cell.end - cell.begin});
    }
    // Longest cells come first, so that no thread block starts a long cell when others have
    // finished.
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

std::vector<int64_t> points_at_home(std::span<const int64_t> positions) {
    std::vector<int64_t> points(positions.size());
    for (size_t i = 0; i < positions.size(); ++i)
        points[static_cast<size_t>(positions[i])] = static_cast<int64_t>(i);
    return points;
}

}  // namespace surrogate::impl::hept
