// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/sequoia/sequoia.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/nodes.hpp"

namespace surrogate::impl::sequoia {

/// Stores q, k and v of nodes and computes attention in the tree: translates node numbers to the
/// arguments of kernels/sequoia.
template <class T>
class Attention {
public:
    /// Scratch memory of one thread.
    struct Scratch {
        kernels::Buffer<T> work;                               // tree_scratch()
        kernels::Buffer<kernels::sequoia::Node<T>> ancestors;  // (n_group, n_ancestor)

        int64_t bytes() const { return work.bytes() + ancestors.bytes(); }
    };

    /// Keeps a reference to `config`, which must outlive this object. keeps_leaves: q, k and v of
    /// leaves are stored in this object; otherwise the caller passes a tile for them. Local.
    Attention(const Config& config, const kernels::Queue& queue, bool keeps_leaves)
        : config_(config),
          queue_(queue),
          heads_{config.num_head, config.head_dim, config.head_dim},
          keeps_leaves_(keeps_leaves) {}

    /// Sets the nodes of `tree`, which must outlive this object. has_own: use(nullptr) may follow.
    /// Local. Allocates only if the sizes exceed all earlier ones.
    void resize(const Tree& tree, bool has_own = true);
    void resize(Scratch& scratch) const;

    const kernels::Heads& heads() const { return heads_; }
    bool keeps_leaves() const { return keeps_leaves_; }
    /// Sets where q, k and v are stored, for all nodes; null, as at first: in this object.
    void use(const NodeTiles<T>* qkv) { given_ = qkv; }
    const NodeTiles<T>& qkv() const { return given_ ? *given_ : qkv_; }
    /// Returns the attention of the nodes above the leaves to their children, (I).
    const NodeTiles<T>& children() const { return children_; }

    /// Returns q, k or v (which = 0, 1, 2) of a tile that contains all three.
    template <class U>
    kernels::Tile<U> part(kernels::Tile<U> qkv, int which) const {
        return kernels::channels(qkv, which * config_.inner_dim(), config_.inner_dim());
    }

    /// Computes the new v of a tile of level l, in place.
    void attend(int l, int64_t tile, kernels::Tile<T> qkv, Scratch& scratch) const;
    /// Computes children() for the parents of a tile of level l.
    void attend_of_parents(int l, int64_t tile, kernels::Tile<const T> qkv, Scratch& scratch) const;

    /// Returns the current neighborhood of nodes of level l: whole groups of siblings in one tile.
    /// It is stored in `scratch`.
    kernels::sequoia::Surroundings<T> around(int l, Range nodes, Scratch& scratch) const;

    /// Calls body(level, node) for the ancestors of each group of siblings, from the parent
    /// upwards.
    template <class Body>
    void for_ancestors(int l, Range nodes, const Body& body) const {
        for (int64_t i = nodes.begin; i < nodes.end; i += tree_->k()) {
            int64_t node = i;
            for (int64_t above = l + 1; above <= l + n_ancestor(config_, *tree_, l); ++above)
                body(static_cast<int>(above), node /= tree_->k());
        }
    }

    /// Consecutive parents that are stored in one tile, and their children in a tile of level l.
    struct Family {
        int64_t parent, n_parent;
        int64_t child, n_child;  ///< columns, counted from the first child of the call
        int64_t n_last;          ///< see attend_children()
    };
    /// Calls body(family) for all parents of some nodes of level l: whole groups of siblings in one
    /// tile. This is one family, except for parents on the shared level, where a rank's nodes may
    /// begin inside a tile.
    template <class Body>
    void for_parents(int l, Range nodes, const Body& body) const {
        const int64_t k = tree_->k(), width = tree_->tile_nodes();
        const int64_t first = nodes.begin / k, end = first + (nodes.size() + k - 1) / k;
        for (int64_t p = first; p < end;) {
            const int64_t place = p - tree_->level(l + 1).held.begin;
            const int64_t next = std::min(end, p + width - place % width);
            const int64_t begin = (p - first) * k;
            body(Family{p, next - p, begin, std::min(nodes.size(), (next - first) * k) - begin,
                        next == end ? n_last(l, nodes) : 1});
            p = next;
        }
    }
    /// Returns columns first .. first + count - 1 of a tile.
    template <class U>
    static kernels::Tile<U> columns(kernels::Tile<U> tile, int64_t first, int64_t count) {
        return {tile.data + first, {tile.shape[0], count}, tile.stride};
    }

    int64_t bytes() const { return qkv_.bytes() + children_.bytes(); }

private:
    int64_t n_last(int l, Range nodes) const {
        const bool is_end = nodes.end == tree_->level(l).n;
        return config_.repeats_last && is_end ? 1 + tree_->n_missing(l) : 1;
    }

    const Config& config_;
    kernels::Queue queue_;
    kernels::Heads heads_;
    bool keeps_leaves_;
    const Tree* tree_ = nullptr;
    const NodeTiles<T>* given_ = nullptr;
    NodeTiles<T> qkv_, children_;
};

}  // namespace surrogate::impl::sequoia
