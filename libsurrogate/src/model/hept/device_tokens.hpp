// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/hept/hept_device.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

/// A plan's tokens as the passes of a device want them, still on the host: the cells of all rows by
/// the way in which they are sorted. One rank.
struct DeviceTokens {
    using Cell = kernels::hept::DeviceCell;

    std::vector<int64_t> points;                     ///< (n_token) of the solver
    std::vector<kernels::hept::DeviceBlock> blocks;  ///< (n_block)
    std::vector<int32_t> members;                    ///< (C H, n_token)
    std::vector<Cell> small, middle, parts;          ///< see OrderArgs
    std::vector<kernels::hept::DeviceLargeCell> large;
    int64_t largest_middle = 0, largest = 0, n_key = 0;

    DeviceTokens() = default;
    /// positions: of the domain's points at home, as in HomeOrder.
    DeviceTokens(const Config& config, const TokenPlan& plan,
                 const std::vector<int64_t>& positions);

private:
    void add(const Cell& cell);
};

}  // namespace surrogate::impl::hept
