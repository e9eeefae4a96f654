// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libsurrogate/src/layers/device_image.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sphere/config.hpp"
#include "libsurrogate/src/model/sphere/device_rings.hpp"
#include "libsurrogate/src/model/sphere/device_tables.hpp"

/// Attention of the blocks of a model on one internal grid of a device.
namespace surrogate::impl::sphere {

/// Weights of one layer; all pointers are device memory.
struct DeviceAttention {
    kernels::DeviceLinear qkv, proj;
};

/// Queries, keys and values as one layer, and the projection. Scores come out in base 2, as on the
/// host. prefix of the weights' names: "blocks.0.self_attn.".
DeviceAttention lay_out_attention(DeviceImage& image, const Weights<float>& weights,
                                  const Attention& attention, const std::string& prefix);

/// Tables and memory of the layers of a grid, in the arena of a program.
class AttentionStage {
public:
    /// Queries of rows [rows.begin, rows.end). Local.
    AttentionStage(const Attention& attention, kernels::Operand operand, Range rows);

    /// Returns the rows of qkv: rows whose keys and values are read, including the own rows.
    Range held() const { return held_; }
    /// Returns the exchange of keys and values between ranks; used with several ranks only. Local.
    RingExchange exchange(const Bands& bands, const Wanted& wanted, int rank) const;
    /// Keys and values in the queries, keys and values at `qkv`.
    RingMemory rings(void* qkv) const;
    /// Destination of queries, keys and values of own rows.
    void* own(void* qkv) const;

    /// Adds room; before the arena is taken.
    void add_to(DeviceArena& arena);
    /// put(place, vector) copies to the arena.
    template <class Put>
    void move_to(Put& put) {
        put(log_weight_at_, log_weight_);
        if (neighbors_) neighbors_->move_to(put);
    }

    kernels::sphere::DeviceGrid grid() const { return grid_; }
    int64_t qkv_width() const { return qkv_.width; }
    int64_t qkv_bytes() const;
    int64_t width() const { return heads_.width; }  ///< of what a pass writes
    /// From queries, keys and values at `qkv` to this stage's averages.
    kernels::sphere::AttendArgs args(const DeviceArena& arena, const void* qkv) const;

    LayerCost cost(const std::string& name) const;

private:
    /// Bytes of a tile's queries, of its keys and of its values.
    int64_t query_words() const {
        return kernels::operand_bytes(operand_) * kernels::tile_rows * attention_.n_head *
               heads_.n_dim_padded / 4;
    }
    int64_t ring_bytes() const {
        return kernels::operand_bytes(operand_) * kernels::tile_rows * grid_.ring_tiles() *
               qkv_.width;
    }

    const Attention& attention_;
    kernels::Operand operand_;
    Range own_, held_;
    kernels::sphere::DeviceGrid grid_;  // own rows
    kernels::DeviceChannels qkv_, heads_;
    std::vector<float> log_weight_;
    std::optional<DeviceTable> neighbors_;
    int64_t averages_at_ = 0, log_weight_at_ = 0;
};

}  // namespace surrogate::impl::sphere
