// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/flare/flare_device.hpp"
#include "libsurrogate/src/device/device_context.hpp"
#include "libsurrogate/src/device/device_memory.hpp"
#include "libsurrogate/src/device/device_steps.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"
#include "libsurrogate/src/model/flare/device_weights.hpp"

namespace surrogate::impl::flare {

/// Sizes of the forward pass on this rank.
struct ForwardSizes {
    int64_t n_point = 0;
    /// Chunks of the points of all ranks; 0: no memory for the reproducible mode.
    int64_t n_chunk_global = 0;
    bool reproducible = false;
    int64_t staging_bytes = 0;  ///< of DeviceForward::staging() at least
};

/// Holds the forward pass of FLARE on a device: the fused passes over this rank's points, their
/// memory, and the reductions between them, which give the latents of a block. Programs with and
/// without gradients enqueue the passes in the same order:
///
///   begin(), then per block: encode(), kernel `maxima`, reduction maxima(), kernel `sums`,
///   reduction sums(), kernel `latents`, decode(); then end().
class DeviceForward {
public:
    /// Local. `context` and `arena` must outlive it.
    DeviceForward(DeviceContext& context, std::shared_ptr<const DeviceWeights> weights,
                  DeviceArena& arena);

    // Local, when planning, in this order. The caller takes the arena before set_reductions().
    /// Throws not_supported for weights that do not fit the device.
    void set_sizes(const ForwardSizes& sizes);
    void add_memory();
    /// @param failure_values  reduction_bytes() or more; receives the values that a failed rank
    /// sends
    void set_reductions(PinnedMemory failure_values);

    // Passes, enqueued without allocating.
    void begin(const DeviceColumns& columns, kernels::Stream stream) const;
    void encode(const DeviceBlock& block, kernels::Stream stream) const;
    void decode(const DeviceBlock& block, kernels::Stream stream) const;
    void end(const DeviceColumns& columns, kernels::Stream stream) const;

    /// Returns the arguments of the kernels between encode() and decode().
    kernels::flare::LatentArgs latent_args(kernels::DeviceFindings* findings) const;
    const DeviceReduction& maxima() const { return reductions_[0]; }
    const DeviceReduction& sums() const { return reductions_[1]; }
    /// Returns the reductions of one block; empty without blocks.
    std::span<const DeviceReduction> reductions() const {
        if (weights_->layers().blocks.empty()) return {};
        return reductions_;
    }
    int64_t reduction_bytes() const { return maxima().bytes() + sums().bytes(); }

    const DeviceWeights& weights() const { return *weights_; }
    int64_t n_point() const { return sizes_.n_point; }
    /// Returns device memory that is unused before begin() and after end().
    float* staging() const { return arena_.at<float>(k_); }
    /// Returns the residual stream, fragments (n_point, width).
    const float* x() const { return arena_.at<float>(x_); }
    /// Returns the number of launches of encode() per block.
    int64_t n_encode_pass() const { return geometry_.n_pass; }

private:
    const kernels::flare::DeviceShape& shape() const { return weights_->shape(); }
    int64_t n_row() const { return shape().sizes.n_head * shape().sizes.n_latent; }

    kernels::Device& device_;
    const kernels::flare::DeviceKernels& kernels_;
    std::shared_ptr<const DeviceWeights> weights_;
    DeviceArena& arena_;
    ForwardSizes sizes_;
    kernels::flare::EncodeGeometry geometry_;
    int64_t n_partial_ = 0;
    int64_t x_ = 0, k_ = 0, partials_ = 0, v_max_ = 0, maxima_ = 0, sums_ = 0, z_ = 0;  // in arena_
    PinnedMemory poison_;                        // maxima, then sums, of a rank that failed
    std::array<DeviceReduction, 2> reductions_;  // maxima, sums
};

}  // namespace surrogate::impl::flare
