// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/buffer.hpp"
#include "kernels/flare/flare.hpp"

namespace surrogate::bench {

/// The mixer of one block on N points: encode, combine, decode. Keys, values and results are stored
/// in tiles of tile_points, (n_tile, C, tile_points), as in the fused passes of a plan; numbers are
/// fixed and random.
class MixerCase {
public:
    MixerCase(const kernels::flare::Sizes& sizes, int64_t n_point);

    /// Encodes chunks of 16 tiles into one partial and one total per thread, joins the totals,
    /// decodes all tiles.
    void run(const kernels::Queue& queue);

    /// Returns the largest difference from `ref` in double over all results, relative to the
    /// largest result.
    double error(const kernels::Queue& queue);

    double pairs() const { return static_cast<double>(n_point_ * sizes_.n_head * sizes_.n_latent); }
    double flops() const { return pairs() * 8 * static_cast<double>(sizes_.n_dim); }

protected:
    kernels::Tile<float> tile(kernels::Buffer<float>& data, int64_t t);
    void encode(const kernels::Queue& queue);
    void join(const kernels::Queue& queue);
    void decode(const kernels::Queue& queue);

    kernels::flare::Sizes sizes_;
    int64_t n_point_, n_tile_;
    kernels::Buffer<float> by_latent_, by_dim_, k_, v_, y_, z_;
    kernels::Buffer<float> partials_;  // (thread, one partial)
    kernels::Buffer<double> totals_;   // (thread, one total)
};

}  // namespace surrogate::bench
