// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/hept/hept_device.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

/// A plan's tokens as the passes of a device want them, still on the host: the cells of all rows by
/// the way in which they are sorted. Cells of which other ranks have places are sorted as a whole:
/// this rank's places of a row, which blocks name, stand among theirs.
struct DeviceTokens {
    using Cell = kernels::hept::DeviceCell;

    std::vector<int64_t> points;                     ///< (n_own) of the columns
    std::vector<kernels::hept::DeviceBlock> blocks;  ///< (n_block)
    int64_t n_member = 0, n_place = 0;               ///< of a row, with those that no cell has
    std::vector<int32_t> members;                    ///< (C H, n_member)
    std::vector<Cell> small, middle, parts;          ///< see OrderArgs
    std::vector<kernels::hept::DeviceLargeCell> large;
    int64_t largest_middle = 0, largest = 0, n_key = 0;

    DeviceTokens() = default;
    /// columns: where the columns have each point that is at home here.
    DeviceTokens(const Config& config, const TokenPlan& plan, std::span<const int64_t> columns);

private:
    void add(const Cell& cell);
};

/// Which point of a domain on one rank is at home where: positions, as in HomeOrder, turned round.
std::vector<int64_t> points_at_home(std::span<const int64_t> positions);

}  // namespace surrogate::impl::hept
