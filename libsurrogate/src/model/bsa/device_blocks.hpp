// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/bsa/bsa_device.hpp"
#include "libsurrogate/src/model/bsa/device_weights.hpp"

namespace surrogate::impl::bsa {

/// Operands of a layer: n_slot rows in its ordering, main or rotated. Pointers are device memory.
struct LayerRows {
    int64_t n_slot = 0, ball = 1;
    const int32_t* order = nullptr;   ///< main slot in each place; null: x stands in that order
    const float* relative = nullptr;  ///< (n_slot, n_axis); null: without balls
    float* x = nullptr;               ///< stream, main order
    void* u = nullptr;                ///< operands (n_tile, nodes.width / 8, 32)
    float* work = nullptr;            ///< queries, keys and values, then hidden channels
    float* gates = nullptr;           ///< stream; only where tokens have gates
    float* y = nullptr;               ///< stream of heads, main order
};

/// The passes of a layer that networks and the stages of U-nets share, on one rank's slots.
class DeviceBlocks {
public:
    /// All outlive it.
    DeviceBlocks(const Config& config, const DeviceWeights& weights, kernels::Device& device,
                 const kernels::bsa::DeviceKernels& kernels)
        : config_(config), weights_(weights), device_(device), kernels_(kernels) {}

    /// Queries, keys, values and gates of rows that stand at `from`.
    void project(const DeviceLayer& layer, const LayerRows& rows, const float* from,
                 kernels::Stream stream) const;
    /// Attention of the rows to all of them.
    kernels::bsa::AttendArgs to_slots(const LayerRows& rows) const;
    /// Attention of the rows to their balls.
    kernels::bsa::AttendArgs to_ball(const DeviceLayer& layer, const LayerRows& rows) const;
    /// x += out(y), x += mlp(norm2(x)); of a layer alone work = out(y).
    void finish(const DeviceLayer& layer, const LayerRows& rows, kernels::Stream stream) const;
    /// A whole layer of balls without gates.
    void run_ball(const DeviceLayer& layer, const LayerRows& rows, kernels::Stream stream) const;

    /// Queries (0), keys (1) or values (2) of the rows.
    kernels::bsa::HeadRows part(const LayerRows& rows, int64_t part) const;
    kernels::LinearArgs pass(const kernels::DeviceLinear& layer, int64_t n_row) const;

private:
    void run(const kernels::LinearArgs& args, kernels::Stream stream) const {
        kernels_.linear(device_.properties(), args, stream);
    }

    const Config& config_;
    const DeviceWeights& weights_;
    kernels::Device& device_;
    const kernels::bsa::DeviceKernels& kernels_;
};

}  // namespace surrogate::impl::bsa
