// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/operand.hpp"
#include "kernels/flare/flare_device.hpp"

/// Block sizes of the device's passes: the same numbers for kernels, geometry and tests. Reasons
/// and the table of resources are in flare_cuda.md.
namespace surrogate::kernels::flare {

/// Assignment of points and latents to the warps of a block.
struct Tiling {
    int n_warp;           ///< per block, at most; a launch may use fewer (for_points())
    int tiles_per_warp;   ///< of 16 points, through a chain at once: two share a load of a weight
    int tiles_per_chunk;  ///< of 16 points or latents, whose scores a warp holds at once

    constexpr int n_thread() const { return 32 * n_warp; }
    constexpr int64_t block_rows() const { return int64_t{n_warp} * tiles_per_warp * tile_rows; }
    /// Returns the tiling with half or a quarter of the warps, if one block per multiprocessor then
    /// still processes all points at once. The points of a block remain whole chunks.
    constexpr Tiling for_points(int64_t n_point, int n_multiprocessor) const {
        const Tiling half{n_warp / 2, tiles_per_warp, tiles_per_chunk};
        const bool fits = n_point <= half.block_rows() * n_multiprocessor;
        const bool is_whole = half.n_warp * tiles_per_warp % tiles_per_chunk == 0;
        return fits && is_whole ? half.for_points(n_point, n_multiprocessor) : *this;
    }
};

/// Variants of a pass in this binary. A plan uses 0; benchmarks and tests also compile the others,
/// for comparison on new devices.
#if defined(SURROGATE_FLARE_VARIANTS)
constexpr int n_variant = 2;
#else
constexpr int n_variant = 1;
#endif

/// Returns the tiling. Wide operands and 128 channels leave registers for 8 warps only, wide
/// operands for half the scores.
constexpr Tiling tiling_of(Operand operand, int64_t width, int variant) {
    if (is_wide(operand)) return {8, 1, 4};
    if (width != 64) return {8, 1, 8};
    return variant == 0 ? Tiling{16, 1, 4} : Tiling{8, 2, 8};
}

/// Returns the bytes of k and v of a block's points, which the warps that hold points pass to the
/// warps that hold latents.
constexpr int64_t exchange_bytes(Operand operand, int64_t width, const Tiling& tiling) {
    return tiling.block_rows() * width * 2 * operand_bytes(operand);
}

/// Returns the bytes of the running sums of one tile of 16 latents: maxima, sums, values; 16 bytes
/// per lane each.
constexpr int64_t sum_bytes(const DeviceShape& shape) {
    return (shape.head_groups() + 1) * 512;
}

/// Returns the bytes of one group of a head. Queries and latents are stored as (H, head_groups,
/// latent_tiles, 32) pieces of 16 latents x 8 channels.
constexpr int64_t latent_group_bytes(Operand operand) {
    return 128 * operand_bytes(operand);
}

}  // namespace surrogate::kernels::flare
