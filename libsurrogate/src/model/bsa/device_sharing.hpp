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

/// Exchanges data between device ranks in a layer: gathers keys and values of all slots and of all
/// blocks on every rank, into one memory for all layers, and redistributes the rows of rotated
/// layers, in both directions. Counts are fixed when the plan is made and do not depend on the
/// chosen blocks. With one rank no data is exchanged and no memory is reserved.
///
/// Its memory is part of the program's arena: call add() before the arena is allocated, fill() and
/// connect() afterwards.
class DeviceSharing {
public:
    /// Keeps references to all arguments, which must outlive this object. Local.
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

    /// Computes the rows that move between ranks; call it after the tree is built. Collective.
    /// All ranks throw the same error.
    void plan_moves();
    void add();                         ///< reserves memory in the arena
    void fill(ArenaWriter& put) const;  ///< writes the tables
    /// Sets up the exchanges. findings: record of errors that other ranks report by NaN. Local.
    void connect(kernels::DeviceFindings* findings);

    bool is_alone() const { return comm_.size() == 1; }
    bool turns() const { return plan_.is_rotated() && !is_alone(); }
    bool has_slots() const { return !is_alone() && (config_.is_sparse() || !config_.has_balls()); }
    bool has_blocks() const { return !is_alone() && config_.is_sparse(); }
    /// Returns the bytes that this rank sends in a layer: for slots, for blocks, for rotated
    /// layers.
    int64_t slot_bytes() const { return 4 * part_slots() * slot_channels(); }
    int64_t block_bytes() const { return 4 * part_blocks() * 2 * widths_.coarse.width; }
    int64_t turn_bytes() const {
        int64_t n_byte = 0;
        for (const DeviceExchange& exchange : exchanges_) n_byte += exchange.given.bytes();
        return n_byte;
    }
    std::span<const DeviceGather> gathers() const { return gathers_; }
    std::span<const DeviceExchange> exchanges() const { return exchanges_; }

    /// Returns the number of channels of a slot's keys and values together; both have as many.
    int64_t slot_channels() const { return 2 * config_.n_head * widths_.heads.n_dim_padded; }
    // Gathered streams: keys and values of slots side by side, slot_channels(); keys and values of
    // blocks in the layout of one rank.
    float* slots() const { return arena_.at<float>(all_slots_); }
    float* block_keys() const { return arena_.at<float>(all_k_); }
    float* block_values() const { return arena_.at<float>(all_v_); }

    // Functions that enqueue work on streams of this rank's rows; `first`: channel of the first
    // key.
    void share_slots(float* stream, int64_t width, int64_t first, DeviceSteps& steps) const;
    void share_blocks(float* keys, float* values, DeviceSteps& steps) const;
    /// Sends rows of x to their positions in the rotated order, or rows of y back to the main
    /// order. `from` may equal `to`.
    void turn(bool forth, float* from, float* to, DeviceSteps& steps) const;

private:
    void move(const kernels::MoveArgs& args, DeviceSteps& steps) const {
        steps.compute([&] { kernels_.move(device_.properties(), args, steps.stream()); });
    }
    /// Returns the number of rows in one rank's part of a gather.
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
    std::vector<DeviceGather> gathers_;      // slots, blocks
    std::vector<DeviceExchange> exchanges_;  // same order as moves_
    // Offsets in arena_. parts_: data of the current gather or exchange.
    int64_t parts_ = 0, all_slots_ = 0, all_k_ = 0, all_v_ = 0, slot_rows_ = 0, block_rows_ = 0;
    std::array<int64_t, 2> given_ = {}, taken_ = {};
};

}  // namespace surrogate::impl::bsa
