// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "libsurrogate/src/model/bsa/device_blocks.hpp"
#include "libsurrogate/src/model/bsa/device_sharing.hpp"

namespace surrogate::impl::bsa {

/// Runs the sparse attention of a layer: coarse vectors of blocks, the choice of blocks for each
/// group of queries, and the three branches. A branch adds its result, times its gate, to y.
///
/// Its memory is part of the program's arena: call add() before the arena is allocated.
class DeviceSparse {
public:
    /// Keeps references to all arguments, which must outlive this object. Local.
    DeviceSparse(const Config& config, const DeviceWidths& widths, const TreePlan<float>& plan,
                 const DeviceBlocks& blocks, const DeviceSharing& sharing, kernels::Device& device,
                 const kernels::bsa::DeviceKernels& kernels, DeviceArena& arena)
        : config_(config),
          widths_(widths),
          plan_(plan),
          blocks_(blocks),
          sharing_(sharing),
          device_(device),
          kernels_(kernels),
          arena_(arena) {}

    void add(kernels::Operand operand);  ///< reserves memory in the arena
    /// Returns the memory for gates of tokens, a stream.
    float* gates() const { return arena_.at<float>(gates_); }
    /// Returns the number of blocks that a group chooses.
    int64_t n_choice() const { return std::min(config_.n_choice, n_block_global()); }

    /// Computes keys, values and, with a query MLP, queries of this rank's blocks.
    void compress(const DeviceLayer& layer, const LayerRows& rows, kernels::Stream stream) const;
    /// Gathers keys and values of the blocks of all ranks.
    void share(DeviceSteps& steps) const {
        sharing_.share_blocks(arena_.at<float>(k_), arena_.at<float>(v_), steps);
    }
    /// Computes y of the rows. to_all: arguments for attention of the rows to all slots.
    void attend(const DeviceLayer& layer, const LayerRows& rows,
                const kernels::bsa::AttendArgs& to_all, kernels::DeviceFindings* findings,
                kernels::Stream stream) const;

private:
    void compress(const DeviceCoarse& by, const kernels::bsa::HeadRows& from, int64_t to,
                  kernels::Stream stream) const;
    void choose(const LayerRows& rows, kernels::DeviceFindings* findings,
                kernels::Stream stream) const;
    void set_gate(const DeviceLayer& layer, int64_t branch, kernels::bsa::AttendArgs& args) const;

    kernels::bsa::HeadRows coarse_rows(const float* stream) const {
        return {stream, widths_.coarse.width, static_cast<int32_t>(config_.n_head), 1, 0, 0};
    }
    kernels::bsa::HeadRows keys() const {
        return coarse_rows(sharing_.is_alone() ? arena_.at<float>(k_) : sharing_.block_keys());
    }
    kernels::bsa::HeadRows values() const {
        return coarse_rows(sharing_.is_alone() ? arena_.at<float>(v_) : sharing_.block_values());
    }
    int64_t n_block() const { return plan_.shape().n_local() / config_.block_size; }
    int64_t n_block_global() const { return plan_.shape().n_slot / config_.block_size; }

    const Config& config_;
    const DeviceWidths& widths_;
    const TreePlan<float>& plan_;
    const DeviceBlocks& blocks_;
    const DeviceSharing& sharing_;
    kernels::Device& device_;
    const kernels::bsa::DeviceKernels& kernels_;
    DeviceArena& arena_;
    // Offsets in arena_. q_, k_, v_: coarse vectors of this rank's blocks.
    int64_t gates_ = 0, folded_ = 0, hidden_ = 0, q_ = 0, k_ = 0, v_ = 0, chosen_ = 0;
};

}  // namespace surrogate::impl::bsa
