// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/bsa/workspace.hpp"

namespace surrogate::impl::bsa {

/// Coarse keys and values of all blocks of all ranks, in tiles of key_blocks blocks that begin at
/// multiples of key_blocks. Sums over one tile at a time are therefore bitwise identical on any
/// number of ranks.
template <class T>
class Coarse {
public:
    static constexpr int64_t key_blocks = 128;  // 64 KiB of keys and values of 64 channels in float
    /// Number of blocks that are compressed at once.
    static constexpr int64_t chunk_blocks = kernels::tile_points;

    /// Keeps a reference to `config`, which must outlive this object. Local.
    Coarse(const Config& config, const kernels::Queue& queue);

    /// Sets the partition slot_begins (size + 1). Local. Allocates only if the number of blocks
    /// exceeds all earlier numbers.
    void resize(std::span<const int64_t> slot_begins);

    int64_t n_block() const { return n_block_; }
    int64_t n_key_tile() const { return (n_block_ + key_blocks - 1) / key_blocks; }
    kernels::Tile<const T> keys(int64_t tile) const { return tile_of(tile, 0); }
    kernels::Tile<const T> values(int64_t tile) const { return tile_of(tile, config_.n_channel); }

    /// Compresses blocks first .. first + n - 1 of this rank, n <= chunk_blocks, into the
    /// workspace's rows.
    void compress(const LayerWeights<T>& w, Workspace<T>& work, int64_t first, int64_t n,
                  int thread);
    /// Sets `to` (C, n) to the coarse queries of blocks of this rank, computed by their network or
    /// as means of `l` slots.
    void compress_queries(const LayerWeights<T>& w, Workspace<T>& work, int64_t l, int64_t first,
                          kernels::Tile<T> to, int thread);
    /// Gathers the rows of all ranks into tiles. Collective.
    void gather(Communicator& comm, Workspace<T>& work);

    int64_t bytes_sent(int rank) const { return n_bytes_[static_cast<size_t>(rank)]; }
    int64_t bytes() const;

private:
    kernels::Tile<T> tile_of(int64_t tile, int64_t first_channel) const {
        T* const data = tiles_data_ + tile * 2 * config_.n_channel * key_blocks;
        return {data + first_channel * key_blocks,
                {config_.n_channel, std::min(key_blocks, n_block_ - tile * key_blocks)},
                {key_blocks, 1}};
    }
    /// Buffers of one thread, each one tile of chunk_blocks blocks with the given width.
    struct Scratch {
        kernels::Buffer<T> folded, hidden;  // (l D), (2 E)
        kernels::Buffer<T> coarse;          // (2 C)
    };
    void reduce(const CoarseMlp<T>& mlp, kernels::Tiles<T> x, int64_t first, kernels::Tile<T> to,
                int thread);

    const Config& config_;
    kernels::Queue queue_;
    int64_t n_block_ = 0;
    std::vector<int64_t> n_bytes_;  // bytes of each rank's rows
    kernels::Buffer<T> rows_;       // (n_block, 2C): keys, values
    kernels::Buffer<T> tiles_;      // (n_key_tile, 2C, key_blocks)
    T* tiles_data_ = nullptr;
    std::vector<Scratch> scratch_;  // (n_thread)
};

}  // namespace surrogate::impl::bsa
