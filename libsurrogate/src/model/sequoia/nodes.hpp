// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/sequoia/tree.hpp"
#include "libsurrogate/src/ranks/thread_shares.hpp"

namespace surrogate::impl::sequoia {

/// Channels of the nodes that a rank holds, from some level upwards, in tiles of whole groups of
/// siblings.
template <class T>
class NodeTiles {
public:
    /// Sets the nodes of the levels from first_level on, with n_channel channels of zeros. Local.
    /// Allocates only if the size exceeds all earlier ones.
    void resize(const Tree& tree, int64_t n_channel, int first_level = 0) {
        const int64_t row = kernels::round_up(tree.tile_nodes(), kernels::lane_count);
        levels_.resize(static_cast<size_t>(tree.n_level()));
        firsts_.resize(levels_.size());
        int64_t size = 0;
        for (int l = first_level; l < tree.n_level(); ++l) size += tree.n_tile(l) * n_channel * row;
        data_.resize(size);
        std::fill(data_.begin(), data_.end(), T(0));
        T* data = data_.data();
        for (int l = 0; l < tree.n_level(); ++l) {
            const int64_t n = l < first_level ? 0 : tree.level(l).held.size();
            levels_[static_cast<size_t>(l)] = {data, n_channel, n, tree.tile_nodes(), row};
            firsts_[static_cast<size_t>(l)] = tree.level(l).held.begin;
            if (n > 0) data += tree.n_tile(l) * n_channel * row;
        }
    }

    /// Copies the values of `other`, which has the same tree and as many channels.
    void assign(const kernels::Queue& queue, const NodeTiles& other) {
        for_thread_shares(queue, data_.size(), [&](Range of, size_t) {
            std::copy(other.data_.data() + of.begin, other.data_.data() + of.end,
                      data_.data() + of.begin);
        });
    }
    void fill(const kernels::Queue& queue, T value) {
        for_thread_shares(queue, data_.size(), [&](Range of, size_t) {
            std::fill(data_.data() + of.begin, data_.data() + of.end, value);
        });
    }

    const kernels::Tiles<T>& level(int l) const { return levels_[static_cast<size_t>(l)]; }
    kernels::Tile<T> tile(int l, int64_t tile) const { return level(l).tile(tile); }
    /// Returns a pointer to channel 0 of node i of a level, counted over all ranks; see
    /// Tiles::column.
    T* node(int l, int64_t i) const { return level(l).column(i - firsts_[static_cast<size_t>(l)]); }
    /// Returns `count` nodes from `first` on, counted over all ranks. They must be stored in one
    /// tile.
    kernels::Tile<T> nodes(int l, int64_t first, int64_t count) const {
        return {node(l, first), {level(l).n_channel, count}, {level(l).row, 1}};
    }
    /// Returns channels [c, c + n_channel) of nodes [nodes.begin, nodes.end) of a level as one
    /// tile: their own tile if they fill it, otherwise a copy in `buffer`, whose padding is zero.
    kernels::Tile<T> load(int l, Range nodes, int64_t c, int64_t n_channel,
                          kernels::Buffer<T>& buffer) const {
        const kernels::Tiles<T>& tiles = level(l);
        const int64_t first = nodes.begin - firsts_[static_cast<size_t>(l)];
        if (first % tiles.n_column == 0) {
            const kernels::Tile<T> whole = tiles.tile(first / tiles.n_column);
            if (whole.shape[1] == nodes.size()) return kernels::channels(whole, c, n_channel);
        }
        const kernels::Tile<T> copy{buffer.data(), {n_channel, nodes.size()}, {tiles.row, 1}};
        for_runs(l, nodes, c, [&](T* from, int64_t i, int64_t count) {
            for (int64_t j = 0; j < n_channel; ++j)
                std::copy_n(from + j * tiles.row, count, &copy(j, i));
        });
        const int64_t end = kernels::round_up(nodes.size(), kernels::lane_count);
        for (int64_t j = 0; j < n_channel; ++j)
            std::fill(&copy(j, 0) + nodes.size(), &copy(j, 0) + end, T(0));
        return copy;
    }
    /// Writes a tile from load(), or one like it, to its nodes.
    void store(int l, Range nodes, int64_t c, kernels::Tile<const T> tile) const {
        for_runs(l, nodes, c, [&](T* to, int64_t i, int64_t count) {
            if (to == &tile(0, i)) return;
            for (int64_t j = 0; j < tile.shape[0]; ++j)
                std::copy_n(&tile(j, i), count, to + j * level(l).row);
        });
    }
    int64_t bytes() const { return data_.bytes(); }

private:
    /// Calls body(channel c, i, count) for `count` nodes from nodes.begin + i on in one tile.
    template <class Body>
    void for_runs(int l, Range nodes, int64_t c, const Body& body) const {
        const int64_t width = level(l).n_column;
        for (int64_t i = 0; i < nodes.size();) {
            const int64_t column = (nodes.begin + i - firsts_[static_cast<size_t>(l)]) % width;
            const int64_t count = std::min(nodes.size() - i, width - column);
            body(node(l, nodes.begin + i) + c * level(l).row, i, count);
            i += count;
        }
    }

    kernels::Buffer<T> data_;
    std::vector<kernels::Tiles<T>> levels_;
    std::vector<int64_t> firsts_;
};

/// Gathers rows of the nodes of the shared level from their owners to all ranks.
template <class T>
class CutGather {
public:
    /// Allocates rows of at most n_channel numbers, only if the size exceeds all earlier ones.
    /// Local.
    void resize(const Tree& tree, int64_t n_channel, int size) {
        own_range_ = tree.owned(tree.cut());
        begins_ = tree.begins(tree.cut());
        n_bytes_.resize(static_cast<size_t>(size));
        own_.resize(own_range_.size() * n_channel);
        all_.resize(begins_.back() * n_channel);
    }

    /// Copies the columns of each rank's own nodes to the columns of all nodes on all ranks.
    /// Collective. Does not allocate.
    void run(Communicator& comm, const kernels::Tiles<T>& nodes) {
        const int64_t n_channel = nodes.n_channel;
        for (int64_t i = own_range_.begin; i < own_range_.end; ++i) {
            T* const row = own_.data() + (i - own_range_.begin) * n_channel;
            for (int64_t c = 0; c < n_channel; ++c) row[c] = nodes(c, i);
        }
        for (size_t r = 0; r < n_bytes_.size(); ++r)
            n_bytes_[r] = (begins_[r + 1] - begins_[r]) * row_bytes(n_channel);
        comm.all_gather_v(own_.data(), all_.data(), n_bytes_);
        for (int64_t i = 0; i < nodes.n_point; ++i) {
            for (int64_t c = 0; c < n_channel; ++c) nodes(c, i) = all_[i * n_channel + c];
        }
    }

    int64_t bytes() const { return own_.bytes() + all_.bytes(); }
    static int64_t row_bytes(int64_t n_channel) {
        return n_channel * static_cast<int64_t>(sizeof(T));
    }

private:
    Range own_range_;
    std::vector<int64_t> begins_, n_bytes_;
    kernels::Buffer<T> own_, all_;
};

}  // namespace surrogate::impl::sequoia
