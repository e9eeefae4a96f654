// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/base/buffer.hpp"
#include "kernels/base/view.hpp"

namespace surrogate::impl::flare {

/// Activations of the blocks that a forward pass stores for backward.
///   nothing      no backward
///   streams      x alone: backward computes k and what attention added again, a block at a time
///   everything   what it does not have to compute more than once
enum class Keeps { nothing, streams, everything };

/// Activations between sweeps, in tiles (C, tile_points):
///   x     the stream before block i, for i = num_blocks behind the last one
///   mid   the stream of block i between attention and ffn
///   k     keys of block i, normed where there is a norm
/// Blocks share memory where nothing is kept of them: a point takes, in float,
///   nothing 8 C bytes (mid is x),  streams 4 C (num_blocks + 3),  everything 4 C (3 num_blocks +
///                                  1)
template <class T>
class Streams {
public:
    Streams(Keeps keeps, int64_t num_blocks, int64_t n_channel)
        : keeps_(keeps), num_blocks_(num_blocks), tile_size_(n_channel * kernels::tile_points) {}

    /// Takes memory for more tiles than ever before. Padding of the last ones becomes zero.
    void resize(int64_t n_tile) {
        n_tile_ = n_tile;
        const int64_t n_kept =
            keeps_ == Keeps::everything ? num_blocks_ : std::min<int64_t>(1, num_blocks_);
        resize(x_, keeps_ == Keeps::nothing ? 1 : num_blocks_ + 1);
        resize(mid_, keeps_ == Keeps::nothing ? 0 : n_kept);
        resize(k_, n_kept);
    }
    /// Takes memory for n_slot tiles, which more tiles share: tile t has the memory of slots[t]
    /// < n_slot. All values become zero. `slots` must outlive the runs.
    void resize(int64_t n_slot, std::span<const int64_t> slots) {
        slots_ = slots;
        resize(n_slot);
        clear();
    }
    /// Sets all memory to zero.
    void clear() {
        for (kernels::Buffer<T>* buffer : {&x_, &mid_, &k_}) std::ranges::fill(*buffer, T(0));
    }

    Keeps keeps() const { return keeps_; }
    T* x(int64_t block, int64_t tile) { return at(x_, keeps_ == Keeps::nothing ? 0 : block, tile); }
    T* mid(int64_t block, int64_t tile) {
        return keeps_ == Keeps::nothing ? x(block, tile) : at(mid_, kept(block), tile);
    }
    T* k(int64_t block, int64_t tile) { return at(k_, kept(block), tile); }

    int64_t bytes() const { return x_.bytes() + mid_.bytes() + k_.bytes(); }

private:
    int64_t kept(int64_t block) const { return keeps_ == Keeps::everything ? block : 0; }
    T* at(kernels::Buffer<T>& buffer, int64_t slot, int64_t tile) {
        if (!slots_.empty()) tile = slots_[static_cast<size_t>(tile)];
        return buffer.data() + (slot * n_tile_ + tile) * tile_size_;
    }
    void resize(kernels::Buffer<T>& buffer, int64_t n_slot) {
        buffer.resize(n_slot * n_tile_ * tile_size_);
        for (int64_t slot = 1; slot <= n_slot && n_tile_ > 0; ++slot)
            std::fill_n(buffer.data() + (slot * n_tile_ - 1) * tile_size_, tile_size_, T(0));
    }

    Keeps keeps_;
    int64_t num_blocks_, tile_size_, n_tile_ = 0;
    std::span<const int64_t> slots_;  // (tiles), empty: each tile has its own memory
    kernels::Buffer<T> x_, mid_, k_;  // (slot, n_tile, C, tile_points)
};

}  // namespace surrogate::impl::flare
