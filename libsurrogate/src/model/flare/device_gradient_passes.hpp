// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/device/device_steps.hpp"
#include "libsurrogate/src/model/flare/device_rows.hpp"

namespace surrogate::impl::flare {

/// Results of a block that the forward pass keeps for the backward pass: floats on the device.
struct KeptBlock {
    float* x = nullptr;        ///< (n_point, C) before the block
    float* z = nullptr;        ///< (H, M, D)
    float* log_sum = nullptr;  ///< (H, M)
};

/// Runs the backward pass of FLARE on a device: passes over chunks of this rank's points and,
/// between blocks, the reduction of dz over the ranks. Between the forward run of a block and its
/// backward pass only KeptBlock is stored; intermediate values are recomputed.
class DeviceGradientPasses {
public:
    /// Local. All must outlive it. operand: fp32 or tf32.
    DeviceGradientPasses(const Config& config, const Layers<float>& layers,
                         const kernels::flare::GradientKernels& kernels, DeviceContext& context,
                         kernels::Operand operand, const RowCut& cut);

    /// Local: takes memory for n_point points.
    void allocate(int64_t n_point, int64_t n_input);

    const KeptBlock& kept(int64_t block) const { return kept_[static_cast<size_t>(block)]; }
    /// (n_point, C) behind the last block.
    float* last() const { return arena_.at<float>(last_); }
    /// Memory that the caller fills before enqueue() and reads after it: (n_point, n_input) network
    /// inputs; (n_point, n_output) gradients of outputs; (n_point, n_input) gradients of inputs.
    float* inputs() const { return arena_.at<float>(inputs_); }
    float* doutputs() const { return arena_.at<float>(doutputs_); }
    float* dinputs() const { return arena_.at<float>(dinputs_); }
    /// Behind enqueue(), on the device: the arena of gradients, then (block, H, M, D) of the scaled
    /// queries before the factor s; n_result() doubles in all.
    const double* results() const { return arena_.at<double>(results_); }
    int64_t n_result() const { return n_arena_ + config_.num_blocks * n_latent_; }
    /// Nonzero: some dz was not finite.
    const int32_t* lost() const { return arena_.at<int32_t>(lost_); }

    /// Results of one block; empty without blocks.
    std::span<const DeviceReduction> reductions() const {
        return {&reduction_, config_.num_blocks > 0 ? size_t{1} : size_t{0}};
    }

    /// Collective. alive: this rank takes its numbers back; otherwise it gives NaN.
    void enqueue(DeviceSteps& steps, bool alive, bool wants_inputs);

    int64_t bytes() const { return arena_.bytes() + weights_.bytes(); }
    const Places& places() const { return places_; }

private:
    /// Arrays of a slab; (n_point of the slab, C) unless said otherwise.
    struct Scratch {
        float *normed, *dnormed, *mid, *y, *raw_k, *k, *v, *dk, *dv, *draw;
        float* moments;  // (points, H, 2)
        ChainMemory k_chain, chain;
    };
    template <class Body>
    void for_slabs(kernels::Stream stream, const Body& body);
    void leave(int64_t first);
    void finish_block(int64_t i, int64_t first);
    void start_block(int64_t i, int64_t first);
    void enter(int64_t first, bool wants_inputs);
    void keys(int64_t i, const float* x);
    kernels::flare::AttentionArgs attention(int64_t i, int64_t first) const;
    kernels::flare::LatentGradientArgs latent_args(int64_t i) const;
    const BlockPlaces& places_of(int64_t i) const { return places_.blocks[static_cast<size_t>(i)]; }
    float* rows(int64_t place, int64_t first) const {
        return arena_.at<float>(place) + first * config_.channel_dim;
    }

    const Config& config_;
    const kernels::flare::GradientKernels& kernels_;
    kernels::Device& device_;
    RowCut cut_;
    kernels::flare::Sizes sizes_;
    Places places_;
    RowWeights weights_;
    RowLayers layers_;
    int64_t n_arena_, n_latent_;        // elements of the master's arena, and of (H, M, D)
    int64_t n_point_ = 0, n_slab_ = 0;  // n_slab_: of the slab under way
    DeviceArena arena_;
    PinnedMemory poison_;
    std::vector<KeptBlock> kept_;
    Scratch scratch_{};
    int64_t last_ = 0, inputs_ = 0, doutputs_ = 0, dinputs_ = 0, results_ = 0,
            lost_ = 0;  // in arena_
    int64_t dx_ = 0, dy_ = 0, of_points_ = 0, local_dz_ = 0, dz_ = 0, gamma_ = 0;
    DeviceReduction reduction_;
    kernels::Stream stream_ = nullptr;
};

}  // namespace surrogate::impl::flare
