// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/base/buffer.hpp"
#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/slot_shape.hpp"

namespace surrogate::impl::bsa {

/// Values of this rank's slots during a run, in tiles that the passes of a layer share.
///   x     stream between layers
///   res   x at the last block residual
///   q, k, v, y   of the current layer; y is the result of attention. Between layers, and for y
///                before attention, this memory is free: it holds rows that change their order.
///                Full attention writes y over q, and receives other ranks' keys and values in k
///                and v.
///   gate  gates before the sigmoid (GateRows)
///   chosen  (n_group, H, n_choice): blocks of each group and head, ascending
template <class T>
class Workspace {
public:
    /// Sets the sizes. n_choice: chosen blocks per group; most_slots: largest number of slots of a
    /// rank. Local. Allocates only if the sizes exceed all earlier ones.
    void resize(const Config& config, const SlotShape& shape, int64_t n_choice,
                int64_t most_slots) {
        config_ = &config;
        shape_ = shape;
        n_choice_ = n_choice;
        const int64_t c = config.n_channel;
        x_.resize(shape.size(c));
        if (config.residual_every > 0) res_.resize(shape.size(c));
        if (!config.has_balls()) {
            qkvy_.resize(shape.size(c) + 2 * c * most_slots / shape.n_column * shape.row());
            return;
        }
        // The memory of y holds coarse keys and values of this rank before they are gathered.
        const int64_t coarse = config.is_sparse() ? 2 * c * n_block() : 0;
        qkvy_.resize(3 * shape.size(c) + std::max(shape.size(c), coarse));
        if (!config.is_sparse()) return;
        gate_.resize(shape.size(3 * config.n_head));
        chosen_.resize(n_group() * config.n_head * n_choice);
    }

    /// Sets columns of tiles beyond their slots to zero, if there are any: layers add to them.
    void clear_padding() {
        if (shape_.row() != shape_.n_column) std::fill(x_.begin(), x_.end(), T(0));
    }

    const SlotShape& shape() const { return shape_; }
    int64_t n_block() const { return shape_.n_local() / config_->block_size; }
    int64_t n_group() const { return shape_.n_local() / config_->group_size; }
    int64_t n_choice() const { return n_choice_; }

    kernels::Tiles<T> x() { return tiles(x_.data()); }
    kernels::Tiles<T> res() { return tiles(res_.data()); }
    kernels::Tiles<T> q() { return tiles(qkvy_.data()); }
    kernels::Tiles<T> k() { return tiles(part(1)); }
    kernels::Tiles<T> v() { return tiles(part(2)); }
    kernels::Tiles<T> y() { return tiles(part(config_->has_balls() ? 3 : 0)); }
    kernels::Tiles<T> gate() { return shape_.tiles(gate_.data(), 3 * config_->n_head); }
    int32_t* chosen(int64_t group, int64_t head) {
        return chosen_.data() + (group * config_->n_head + head) * n_choice_;
    }

    std::span<int32_t> chosen() { return {chosen_.data(), static_cast<size_t>(chosen_.size())}; }

    /// Returns TreePlan::move_size() elements, which are free between layers.
    T* free_memory() { return qkvy_.data(); }
    T* coarse_rows() { return part(3); }  ///< (n_block, 2C)

    int64_t bytes() const {
        return x_.bytes() + res_.bytes() + qkvy_.bytes() + gate_.bytes() + chosen_.bytes();
    }

private:
    kernels::Tiles<T> tiles(T* data) const { return shape_.tiles(data, config_->n_channel); }
    T* part(int64_t index) { return qkvy_.data() + index * shape_.size(config_->n_channel); }

    const Config* config_ = nullptr;
    SlotShape shape_;
    int64_t n_choice_ = 0;
    kernels::Buffer<T> x_, res_, qkvy_, gate_;
    kernels::Buffer<int32_t> chosen_;
};

}  // namespace surrogate::impl::bsa
