// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/bsa/bsa_device.hpp"
#include "libsurrogate/src/device/device_memory.hpp"
#include "libsurrogate/src/device/device_steps.hpp"
#include "libsurrogate/src/model/bsa/device_rows.hpp"
#include "libsurrogate/src/model/bsa/device_weights.hpp"
#include "libsurrogate/src/model/bsa/tree_plan.hpp"

namespace surrogate::impl::bsa {

/// Data that device ranks exchange in a layer: keys and values of all slots and of all blocks,
/// gathered on every rank into one memory for all layers, and the rows of rotated layers, there and
/// back. Counts are those of planning, whatever is chosen. On one rank there is nothing of it.
///
/// Its memory is part of the program's: add() before the arena is taken, fill() and connect() then.
class DeviceSharing {
public:
    /// All outlive it.
    DeviceSharing(const Config& config, const DeviceWidths& widths, const TreePlan<float>& plan,
                  Communicator& comm, kernels::Device& device,
                  const kernels::bsa::DeviceKernels& kernels, DeviceArena& arena)
        : config_(config),
          widths_(widths),
          plan_(plan),
          comm_(comm),
          device_(device),
          kernels_(kernels),
          arena_(arena) {}

    /// Which rows move to whom, once the tree stands. Collective, with agreement.
    void plan_moves();
    void add();                         ///< its memory to the arena
    void fill(ArenaWriter& put) const;  ///< its tables
    /// findings: where what comes from a rank that failed is told.
    void connect(kernels::DeviceFindings* findings);

    bool is_alone() const { return comm_.size() == 1; }
    bool turns() const { return plan_.is_rotated() && !is_alone(); }
    bool has_slots() const { return !is_alone() && (config_.is_sparse() || !config_.has_balls()); }
    bool has_blocks() const { return !is_alone() && config_.is_sparse(); }
    /// Bytes that this rank sends in a layer.
    int64_t slot_bytes() const { return 4 * part_slots() * slot_channels(); }
    int64_t block_bytes() const { return 4 * part_blocks() * 2 * widths_.coarse.width; }
    int64_t turn_bytes() const {
        int64_t n_byte = 0;
        for (const DeviceExchange& exchange : exchanges_) n_byte += exchange.given.bytes();
        return n_byte;
    }
    std::span<const DeviceGather> gathers() const { return gathers_; }
    std::span<const DeviceExchange> exchanges() const { return exchanges_; }

    /// Channels of a slot's keys and values, which are as many.
    int64_t slot_channels() const { return 2 * config_.n_head * widths_.heads.n_dim_padded; }
    // Gathered data. Streams: keys and values of slots side by side, slot_channels(); keys and
    // values of blocks as they are on one rank.
    float* slots() const { return arena_.at<float>(all_slots_); }
    float* block_keys() const { return arena_.at<float>(all_k_); }
    float* block_values() const { return arena_.at<float>(all_v_); }

    // Given to the steps. Streams of this rank's rows; `first`: channel of the first key.
    void share_slots(float* stream, int64_t width, int64_t first, DeviceSteps& steps) const;
    void share_blocks(float* keys, float* values, DeviceSteps& steps) const;
    /// Rows of x to their places in the rotated order, or of y to the main one. `from` may be `to`.
    void turn(bool forth, float* from, float* to, DeviceSteps& steps) const;

private:
    void move(const kernels::MoveArgs& args, DeviceSteps& steps) const {
        steps.compute([&] { kernels_.move(device_.properties(), args, steps.stream()); });
    }
    /// Rows of a rank's part of what is gathered.
    int64_t part_slots() const { return most_rows(plan_.begins()); }
    int64_t part_blocks() const { return part_slots() / config_.block_size * config_.n_head; }
    int64_t n_block_row() const {
        return plan_.shape().n_slot / config_.block_size * config_.n_head;
    }

    const Config& config_;
    const DeviceWidths& widths_;
    const TreePlan<float>& plan_;
    Communicator& comm_;
    kernels::Device& device_;
    const kernels::bsa::DeviceKernels& kernels_;
    DeviceArena& arena_;
    kernels::DeviceFindings* findings_ = nullptr;
    std::array<SlotMoves, 2> moves_;  // to the rotated order, and back
    std::array<std::vector<int64_t>, 2> given_bytes_, taken_bytes_;
    std::vector<DeviceGather> gathers_;      // of slots, of blocks
    std::vector<DeviceExchange> exchanges_;  // as moves_
    // In arena_. parts_: what is gathered or moved, one after the other.
    int64_t parts_ = 0, all_slots_ = 0, all_k_ = 0, all_v_ = 0, slot_rows_ = 0, block_rows_ = 0;
    std::array<int64_t, 2> given_ = {}, taken_ = {};
};

}  // namespace surrogate::impl::bsa
