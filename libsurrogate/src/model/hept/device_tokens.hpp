// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/hept/hept_device.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

/// A plan's tokens in the form that the device kernels read, still in host memory. Lists the cells
/// of all rows by the method that sorts them. A cell with positions on other ranks is sorted
/// completely; this rank's positions of a row, which blocks refer to, are part of the sorted
/// result.
struct DeviceTokens {
    using Cell = kernels::hept::DeviceCell;

    std::vector<int64_t> points;                     ///< (n_own): column of each own token's point
    std::vector<kernels::hept::DeviceBlock> blocks;  ///< (n_block)
    int64_t n_member = 0, n_place = 0;  ///< per row; n_place includes positions that no cell has
    std::vector<int32_t> members;       ///< (C H, n_member)
    std::vector<Cell> small, middle, parts;  ///< see OrderArgs
    std::vector<kernels::hept::DeviceLargeCell> large;
    int64_t largest_middle = 0, largest = 0, n_key = 0;

    DeviceTokens() = default;
    /// Builds the lists from `plan`. columns: the column of each point that this rank owns. Local.
    DeviceTokens(const Config& config, const TokenPlan& plan, std::span<const int64_t> columns);

private:
    void add(const Cell& cell);
};

/// Returns the inverse of HomeOrder's positions on one rank: for each position the point of the
/// domain.
std::vector<int64_t> points_at_home(std::span<const int64_t> positions);

}  // namespace surrogate::impl::hept
