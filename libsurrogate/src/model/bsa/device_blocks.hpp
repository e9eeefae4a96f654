// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/bsa/bsa_device.hpp"
#include "libsurrogate/src/layers/linear_pass.hpp"
#include "libsurrogate/src/model/bsa/device_weights.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"

namespace surrogate::impl::bsa {

/// Returns the arguments for the pass that reads the columns of a network or U-net; rows, weights
/// and output are still to be named.
kernels::bsa::BeginArgs begin_args(Features features, const DeviceColumns& columns);
/// Returns the arguments for the pass that writes them; rows and input are still to be named.
kernels::bsa::EndArgs end_args(const DeviceColumns& columns);

/// Rows of a layer: n_slot rows in the layer's order, main or rotated. Pointers are device memory.
struct LayerRows {
    int64_t n_slot = 0, ball = 1;
    const int32_t* order = nullptr;   ///< main slot of each row; null: x is in the layer's order
    const float* relative = nullptr;  ///< (n_slot, n_axis); null: without balls
    float* x = nullptr;               ///< stream, main order
    void* u = nullptr;                ///< operands (n_tile, nodes.width / 8, 32)
    float* work = nullptr;            ///< queries, keys and values, then hidden channels
    float* gates = nullptr;           ///< stream; only if tokens have gates
    float* y = nullptr;               ///< stream of heads, main order
};

/// Runs the passes of a layer that networks and stages of U-nets have in common, on one rank's
/// slots.
class DeviceBlocks {
public:
    /// Keeps references to all arguments, which must outlive this object. Local.
    DeviceBlocks(const Config& config, const DeviceWeights& weights, kernels::Device& device,
                 const kernels::bsa::DeviceKernels& kernels)
        : config_(config), weights_(weights), device_(device), kernels_(kernels) {}

    /// Computes queries, keys, values and gates of the rows stored at `from`.
    void project(const DeviceLayer& layer, const LayerRows& rows, const float* from,
                 kernels::Stream stream) const;
    /// Returns the arguments for attention of the rows to all rows.
    kernels::bsa::AttendArgs to_slots(const LayerRows& rows) const;
    /// Returns the arguments for attention of the rows to their balls.
    kernels::bsa::AttendArgs to_ball(const DeviceLayer& layer, const LayerRows& rows) const;
    /// Computes x += out(y), x += mlp(norm2(x)); for a single layer work = out(y).
    void finish(const DeviceLayer& layer, const LayerRows& rows, kernels::Stream stream) const;
    /// Runs a whole layer of balls without gates.
    void run_ball(const DeviceLayer& layer, const LayerRows& rows, kernels::Stream stream) const;

    /// Returns queries (0), keys (1) or values (2) of the rows.
    kernels::bsa::HeadRows part(const LayerRows& rows, int64_t part) const;
    /// Returns the pass of a linear layer over n_row rows; its input and output are still to be
    /// named.
    LinearPass linear(const kernels::DeviceLinear& layer, int64_t n_row) const {
        return linear_pass(layer, weights_.operand(), kernels::row_tiles(n_row));
    }
    void run(const LinearPass& pass, kernels::Stream stream) const {
        kernels_.linear(device_.properties(), pass.args, stream);
    }

private:
    const Config& config_;
    const DeviceWeights& weights_;
    kernels::Device& device_;
    const kernels::bsa::DeviceKernels& kernels_;
};

}  // namespace surrogate::impl::bsa
