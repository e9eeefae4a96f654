// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/sequoia/backward.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/model/sequoia/nodes.hpp"

namespace surrogate::impl::sequoia {

/// Sums the gradients of the keys and values of ancestors over their descendants, and exchanges
/// them between ranks.
///
/// A node of the block level or above has one row (2 I) for each of its own ancestors: the sum over
/// all of its descendants that attend to this ancestor. add_up() adds the rows of a node's children
/// in ascending order, so that sums depend on the tree only, not on ranks and threads. The same
/// order holds on the levels that all ranks hold: gather() first sends them the rows of the shared
/// level from their owners.
template <class T>
class AncestorSums {
public:
    /// Sets the nodes of `tree`, which must outlive this object. n_inner: channels of a key; block:
    /// see block_level(). Without far ancestors, nodes attend to their parents at most, and there
    /// are no rows. Local. Allocates only if the sizes exceed all earlier ones.
    void resize(const Tree& tree, int64_t n_inner, int block, bool has_far_ancestors);

    /// Returns the target for contributions of descendants of node i of level l >= block to its
    /// ancestor on level `above`.
    kernels::sequoia::NodeGradient<T> at(int l, int64_t i, int above) {
        T* const row = row_of(l, i, above);
        return {row, row + n_inner_, 1};
    }

    /// Announces contributions to rows of level l.
    void touch(int l) {
        if (l < n_row_level()) is_pending_[static_cast<size_t>(l)] = true;
    }
    /// Announces contributions of own nodes to nodes of the shared level, or to rows there.
    void touch_shared() { is_shared_level_behind_ = true; }

    /// Completes dqkv (3 I) of the nodes of level l: adds rows of lower levels to the rows of level
    /// l and to dqkv of all levels up to l. After the last level, everything is complete on all
    /// ranks. Collective. Does not allocate.
    void complete(int l, Communicator& comm, const kernels::Queue& queue, const NodeTiles<T>& dqkv);

    /// Returns the bytes that a rank sends in one gather.
    int64_t bytes_sent() const { return own_.size() * static_cast<int64_t>(sizeof(T)); }
    int64_t bytes() const;

private:
    int n_row_level() const { return static_cast<int>(rows_.size()); }
    int64_t n_above(int l) const { return tree_->n_level() - 1 - l; }
    T* row_of(int l, int64_t i, int above) {
        const int64_t node = i - tree_->level(l).held.begin;
        return rows_[static_cast<size_t>(l)].data() +
               (node * n_above(l) + above - l - 1) * 2 * n_inner_;
    }
    void add_up(int l, const kernels::Queue& queue, const NodeTiles<T>& dqkv);
    void gather(Communicator& comm, const NodeTiles<T>& dqkv);

    const Tree* tree_ = nullptr;
    int64_t n_inner_ = 0;
    int block_ = 0;
    std::vector<kernels::Buffer<T>> rows_;  // (level): (node, ancestor, 2 I)
    std::vector<uint8_t> is_pending_;       // (level): rows are not zero
    bool is_shared_level_behind_ = false;
    int64_t n_packed_ = 0;          // numbers of a node of the shared level
    kernels::Buffer<T> own_, all_;  // (node, n_packed_)
    std::vector<int64_t> n_bytes_;  // (size)
};

}  // namespace surrogate::impl::sequoia
