// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/layer_pass.hpp"

#include <algorithm>

namespace surrogate::impl::sequoia {

using kernels::Buffer;
using kernels::Tile;
using kernels::sequoia::Node;

template <class T>
LayerPass<T>::LayerPass(const Config& config, const Layers<T>& layers, const kernels::Queue& queue)
    : config_(config),
      layers_(layers),
      queue_(queue),
      heads_{config.num_head, config.head_dim, config.head_dim},
      keeps_leaves_(config.schedule != Schedule::bottom_up),
      scratch_(static_cast<size_t>(queue.n_thread())) {}

template <class T>
void LayerPass<T>::resize(const Tree& tree) {
    tree_ = &tree;
    visits_ = visits(config_.schedule, tree.n_level());
    qkv_.resize(tree, 3 * config_.inner_dim(), keeps_leaves_ ? 0 : 1);
    children_.resize(tree, config_.has_children ? config_.inner_dim() : 0, 1);
    const int64_t row = kernels::round_up(tree.tile_nodes(), kernels::lane_count);
    const int64_t n_group = tree.tile_nodes() / tree.k();
    for (Scratch& scratch : scratch_) {
        scratch.normed.resize(config_.dim * row);
        scratch.qkv.resize(keeps_leaves_ ? 0 : 3 * config_.inner_dim() * row);
        scratch.mlp.resize(2 * config_.hidden_dim * row);
        scratch.attention.resize(
            kernels::sequoia::tree_scratch(heads_, tree.k(), tree.n_level() - 1));
        scratch.ancestors.resize(n_group * (tree.n_level() - 1));
    }
}

template <class T>
int64_t LayerPass<T>::n_gather(const Config& config, const Tree& tree) {
    if (!config.has_children || tree.cut() == 0) return 0;
    return std::ranges::count(visits(config.schedule, tree.n_level()), tree.cut());
}

template <class T>
int64_t LayerPass<T>::n_ancestor(int l) const {
    const int64_t n_above = tree_->n_level() - 1 - l;
    switch (config_.ancestors) {
        case Ancestors::all: return n_above;
        case Ancestors::parent: return std::min<int64_t>(n_above, 1);
        case Ancestors::none: break;
    }
    return 0;
}

template <class T>
template <class Body>
void LayerPass<T>::for_tiles(int l, const Body& body) {
    queue_.parallel_for(tree_->n_tile(l), [&](int64_t tile, int thread) {
        body(tile, scratch_[static_cast<size_t>(thread)]);
    });
}

template <class T>
void LayerPass<T>::project(const LayerWeights<T>& weights, Tile<const T> x, Scratch& scratch,
                           Tile<T> qkv) const {
    const Tile<T> normed{scratch.normed.data(), x.shape, qkv.stride};
    kernels::normalise<T>(queue_, weights.norm1, x, normed);
    kernels::linear<T>(queue_, weights.qkv, normed, {}, qkv);
}

/// The new v of a tile of level l, in place.
template <class T>
void LayerPass<T>::attend(int l, int64_t tile, Tile<T> qkv, Scratch& scratch) const {
    const Tile<T> v = part(qkv, 2);
    kernels::sequoia::Surroundings<T> around;
    around.k = tree_->k();
    around.has_siblings = config_.has_siblings;
    around.n_last = n_last(l, tile);
    around.n_ancestor = n_ancestor(l);
    if (l > 0 && config_.has_children) around.children = children_.tile(l, tile);
    const int64_t first = tree_->level(l).held.begin + tile * tree_->tile_nodes();
    Node<T>* const ancestors = scratch.ancestors.data();
    Node<T>* next = ancestors;
    for (int64_t i = first; i < first + v.shape[1]; i += tree_->k()) {
        int64_t node = i;
        for (int above = l + 1; above <= l + around.n_ancestor; ++above) {
            node /= tree_->k();
            const Tile<T> at = qkv_.nodes(above, node, 1);
            *next++ = {part(at, 1).data, part(at, 2).data, at.stride[0]};
        }
    }
    around.ancestors = {ancestors, next};
    kernels::sequoia::attend_tree<T>(queue_, heads_, part(qkv, 0), part(qkv, 1), v, around,
                                     scratch.attention.data(), v);
}

/// Attention of the parents of a tile of level l to it. Their places are in one tile, but for the
/// cut level, which begins with the nodes of the first rank.
template <class T>
void LayerPass<T>::attend_of_parents(int l, int64_t tile, Tile<const T> qkv,
                                     Scratch& scratch) const {
    const int64_t k = tree_->k(), width = tree_->tile_nodes(), n_child = qkv.shape[1];
    const int64_t held = tree_->level(l + 1).held.begin;
    const int64_t first = (tree_->level(l).held.begin + tile * width) / k;
    const int64_t end = first + (n_child + k - 1) / k;
    for (int64_t p = first; p < end;) {
        const int64_t next = std::min(end, p + width - (p - held) % width);
        const int64_t begin = (p - first) * k,
                      count = std::min(n_child, (next - first) * k) - begin;
        const Tile<const T> some{qkv.data + begin, {qkv.shape[0], count}, qkv.stride};
        kernels::sequoia::attend_children<T>(queue_, heads_, k, next == end ? n_last(l, tile) : 1,
                                             part(Tile<const T>(qkv_.nodes(l + 1, p, next - p)), 0),
                                             part(some, 1), part(some, 2), scratch.attention.data(),
                                             children_.nodes(l + 1, p, next - p));
        p = next;
    }
}

template <class T>
void LayerPass<T>::finish(const LayerWeights<T>& weights, Tile<const T> v, Scratch& scratch,
                          Tile<T> x) const {
    const Tile<T> normed{scratch.normed.data(), x.shape, x.stride};
    const Tile<T> hidden{scratch.mlp.data(), {2 * config_.hidden_dim, x.shape[1]}, x.stride};
    kernels::linear<T>(queue_, weights.ff, v, x, x);
    kernels::normalise<T>(queue_, weights.norm2, x, normed);
    kernels::residual_mlp<T>(queue_, weights.mlp.view(), normed, hidden, true, x);
}

/// Bottom-up: all that happens to leaves.
template <class T>
void LayerPass<T>::run_leaves(const LayerWeights<T>& weights, const NodeTiles<T>& x) {
    const bool has_parents = tree_->n_level() > 1 && config_.has_children;
    for_tiles(0, [&](int64_t tile, Scratch& scratch) {
        const Tile<T> own = x.tile(0, tile);
        const Tile<T> qkv{scratch.qkv.data(), {3 * config_.inner_dim(), own.shape[1]}, own.stride};
        project(weights, own, scratch, qkv);
        attend(0, tile, qkv, scratch);
        if (has_parents) attend_of_parents(0, tile, qkv, scratch);
        finish(weights, part(qkv, 2), scratch, own);
    });
}

template <class T>
void LayerPass<T>::visit(int l, Communicator& comm, CutGather<T>& gather) {
    if (l > 0 && config_.has_children) {
        if (l > 1 || keeps_leaves_) {
            for_tiles(l - 1, [&](int64_t tile, Scratch& scratch) {
                attend_of_parents(l - 1, tile, qkv_.tile(l - 1, tile), scratch);
            });
        }
        if (l == tree_->cut()) gather.run(comm, children_.level(l));
    }
    for_tiles(
        l, [&](int64_t tile, Scratch& scratch) { attend(l, tile, qkv_.tile(l, tile), scratch); });
}

template <class T>
void LayerPass<T>::run(int64_t i, Communicator& comm, CutGather<T>& gather, const NodeTiles<T>& x) {
    const LayerWeights<T>& weights = layers_.layer(i);
    const int first = keeps_leaves_ ? 0 : 1;
    for (int l = first; l < tree_->n_level(); ++l) {
        for_tiles(l, [&](int64_t tile, Scratch& scratch) {
            project(weights, x.tile(l, tile), scratch, qkv_.tile(l, tile));
        });
    }
    if (!keeps_leaves_) run_leaves(weights, x);
    for (const int l : visits_) {
        if (l >= first) visit(l, comm, gather);
    }
    for (int l = first; l < tree_->n_level(); ++l) {
        for_tiles(l, [&](int64_t tile, Scratch& scratch) {
            finish(weights, part(Tile<const T>(qkv_.tile(l, tile)), 2), scratch, x.tile(l, tile));
        });
    }
}

template <class T>
int64_t LayerPass<T>::bytes() const {
    int64_t n_byte = qkv_.bytes() + children_.bytes();
    for (const Scratch& s : scratch_) {
        n_byte += s.normed.bytes() + s.qkv.bytes() + s.mlp.bytes() + s.attention.bytes() +
                  s.ancestors.bytes();
    }
    return n_byte;
}

template class LayerPass<float>;
template class LayerPass<double>;

}  // namespace surrogate::impl::sequoia
