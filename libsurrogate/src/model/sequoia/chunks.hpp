// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/model/family/weight_range.hpp"
#include "libsurrogate/src/model/sequoia/tree.hpp"

namespace surrogate::impl::sequoia {

/// Nodes of one level, counted over all ranks.
struct LevelNodes {
    int level = 0;
    Range nodes;
};

/// Division of the nodes that a rank holds into chunks of a backward pass. A chunk is processed by
/// one thread, and its gradients of weights are summed separately. Chunks depend on the tree only,
/// not on ranks and threads:
///
///   blocks   the descendants of one node of the block level, which is at most the shared level
///   groups   siblings of the block level or a higher one
class Chunks {
public:
    /// Sets the nodes of `tree`, which must outlive this object, and whose shared level is at least
    /// `block`, see block_level(). Local. Allocates only if there are more levels than ever before.
    void resize(const Tree& tree, int block) {
        tree_ = &tree;
        block_ = block;
        firsts_.assign(1, block > 0 ? tree.owned(block).size() : 0);
        for (int l = block; l < tree.n_level(); ++l) firsts_.push_back(firsts_.back() + n_part(l));
    }

    int block_level() const { return block_; }
    int64_t size() const { return firsts_.back(); }

    /// Returns the number of chunks that have nodes of level l, and the nodes of the i-th of them.
    int64_t n_part(int l) const {
        if (l < block_) return firsts_.front();
        return (tree_->level(l).held.size() + tree_->k() - 1) / tree_->k();
    }
    Range part(int l, int64_t i) const {
        const Level& level = tree_->level(l);
        if (l >= block_) {
            const int64_t first = level.held.begin + i * tree_->k();
            return {first, std::min(first + tree_->k(), level.held.end)};
        }
        Range nodes{block(i), block(i) + 1};
        for (int below = block_; below > l; --below)
            nodes = {nodes.begin * tree_->k(), nodes.end * tree_->k()};
        return {nodes.begin, std::min(nodes.end, level.n)};
    }
    /// Returns the node of the block level above the i-th block.
    int64_t block(int64_t i) const { return tree_->owned(block_).begin + i; }

    /// Returns true if this rank adds the gradients of weights of a chunk. All ranks hold the
    /// groups of the shared level and above; rank 0 adds them.
    bool is_counted(int64_t chunk) const {
        return tree_->rank() == 0 || chunk < firsts_[static_cast<size_t>(tree_->cut() - block_)];
    }

    /// Calls body(nodes) for up to tile_nodes() nodes of a chunk at a time, level by level.
    template <class Body>
    void for_pieces(int64_t chunk, const Body& body) const {
        if (chunk < firsts_.front()) {
            for (int l = 0; l < block_; ++l) for_pieces(l, part(l, chunk), body);
            return;
        }
        int l = block_;
        while (chunk >= firsts_[static_cast<size_t>(l - block_ + 1)]) ++l;
        for_pieces(l, part(l, chunk - firsts_[static_cast<size_t>(l - block_)]), body);
    }

    /// Calls body(nodes) for the parts of some nodes of level l that are stored in one tile each.
    template <class Body>
    void for_tiles(int l, Range nodes, const Body& body) const {
        const int64_t begin = tree_->level(l).held.begin, width = tree_->tile_nodes();
        for (int64_t i = nodes.begin; i < nodes.end;) {
            const int64_t next = std::min(nodes.end, i + width - (i - begin) % width);
            body(Range{i, next});
            i = next;
        }
    }

private:
    template <class Body>
    void for_pieces(int l, Range nodes, const Body& body) const {
        const int64_t width = tree_->tile_nodes();
        for (int64_t i = nodes.begin; i < nodes.end; i += width)
            body(LevelNodes{l, {i, std::min(i + width, nodes.end)}});
    }

    const Tree* tree_ = nullptr;
    int block_ = 0;
    // first chunk of each level from the block level on, which is the number of blocks, and the
    // number of all chunks
    std::vector<int64_t> firsts_ = {0};
};

/// Calls body(chunk, thread, gradients) for all chunks, on all threads. A chunk adds gradients of
/// weights in `range` only, which are then closed; gradients of chunks that this rank does not add
/// have no addresses.
template <class Body>
void for_chunks(const Chunks& chunks, const kernels::Queue& queue, const MasterWeights& master,
                GradientSums& sums, Range range, const Body& body) {
    queue.parallel_for(chunks.size(), [&](int64_t chunk, int thread) {
        if (!chunks.is_counted(chunk)) return body(chunk, thread, Gradients(master, {}));
        body(chunk, thread, Gradients(master, sums.open(thread)));
        sums.close(thread, range.begin, range.end);
    });
}

}  // namespace surrogate::impl::sequoia
