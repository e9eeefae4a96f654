// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/operand.hpp"
#include "kernels/flare/flare_device.hpp"

/// How a block of the device's passes is cut: the same numbers for kernels, geometry and tests.
/// Reasons and the table of resources stand in flare_cuda.md.
namespace surrogate::kernels::flare {

constexpr int n_warp = 8;
constexpr int n_thread = 32 * n_warp;

/// Tiles of 16 points that a warp carries through a chain at once: two share each load of a weight,
/// where registers allow it.
constexpr int tiles_per_warp(Operand operand, int64_t width) {
    return !is_wide(operand) && width == 64 ? 2 : 1;
}
constexpr int64_t block_rows(Operand operand, int64_t width) {
    return n_warp * tiles_per_warp(operand, width) * tile_rows;
}

/// Tiles of 16 points or latents whose scores a warp holds at once: operands in pieces take
/// registers of their own.
constexpr int tiles_per_chunk(Operand operand) {
    return is_wide(operand) ? 4 : 8;
}

/// k and v of a block's points, handed from the warps that hold points to those that hold latents.
constexpr int64_t exchange_bytes(Operand operand, int64_t width) {
    return block_rows(operand, width) * width * 2 * operand_bytes(operand);
}

/// Sums under way of one tile of 16 latents: maxima, sums, values; 16 bytes a lane each.
constexpr int64_t sum_bytes(const DeviceShape& shape) {
    return (shape.head_groups() + 1) * 512;
}

/// Queries and latents are stored as (H, head_groups, latent_tiles, 32) pieces of 16 latents x 8
/// channels.
constexpr int64_t latent_group_bytes(Operand operand) {
    return 128 * operand_bytes(operand);
}

}  // namespace surrogate::kernels::flare
