// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "benchmarks/kernels/mixer_case.hpp"
#include "kernels/flare/gradient.hpp"

namespace surrogate::bench {

/// The mixer forward and backward, for gradients of its predictions that are fixed and random.
class MixerGradientCase : public MixerCase {
public:
    MixerGradientCase(const kernels::flare::Sizes& sizes, int64_t n_point);

    /// Runs the backward pass of decode: chunks of 16 tiles into sums of floats and then of
    /// doubles, one array per thread; joins the threads' sums.
    void decode_backward(const kernels::Queue& queue);
    /// Runs the rest of the backward pass, after decode_backward().
    void mix_backward(const kernels::Queue& queue);
    void backward(const kernels::Queue& queue) {
        decode_backward(queue);
        mix_backward(queue);
    }

    /// Returns the largest difference of a gradient from `ref` in double, relative to the largest
    /// of its array, over the gradients of keys, values and queries.
    double gradient_error(const kernels::Queue& queue);

    /// Return the flops of the necessary products of each pass: scores, y and dz; scores, two
    /// products of gradients, dv, dk and dq.
    double decode_flops() const { return pairs() * 6 * static_cast<double>(sizes_.n_dim); }
    double mix_flops() const { return pairs() * 12 * static_cast<double>(sizes_.n_dim); }
    double step_flops() const { return flops() + decode_flops() + mix_flops(); }

private:
    kernels::Tile<float> of_points(int64_t t);
    void prepare_latents();
    /// Calls pass(tile, sums, queue of one thread) for all tiles, and joins the sums in totals_.
    template <class Pass>
    void sum_over_tiles(const kernels::Queue& queue, const Pass& pass);

    kernels::Buffer<float> dy_, dk_, dv_, of_points_;
    kernels::Buffer<float> sums_;         // (thread, LatentSums)
    kernels::Buffer<double> sum_totals_;  // (thread, LatentSums)
    kernels::Buffer<float> dz_, gamma_, log_sum_;
};

}  // namespace surrogate::bench
