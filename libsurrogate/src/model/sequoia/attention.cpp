// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/attention.hpp"

namespace surrogate::impl::sequoia {

using kernels::Tile;
using kernels::sequoia::Node;
using kernels::sequoia::Surroundings;

template <class T>
void Attention<T>::resize(const Tree& tree, bool has_own) {
    tree_ = &tree;
    if (has_own) qkv_.resize(tree, 3 * config_.inner_dim(), keeps_leaves_ ? 0 : 1);
    children_.resize(tree, config_.has_children ? config_.inner_dim() : 0, 1);
}

template <class T>
void Attention<T>::resize(Scratch& scratch) const {
    const int64_t n_above = tree_->n_level() - 1;
    scratch.work.resize(kernels::sequoia::tree_scratch(heads_, tree_->k(), n_above));
    scratch.ancestors.resize(tree_->tile_nodes() / tree_->k() * n_above);
}

template <class T>
Surroundings<T> Attention<T>::around(int l, Range nodes, Scratch& scratch) const {
    Surroundings<T> around;
    around.k = tree_->k();
    around.has_siblings = config_.has_siblings;
    around.n_ancestor = n_ancestor(config_, *tree_, l);
    around.n_last = n_last(l, nodes);
    if (l > 0 && config_.has_children)
        around.children = children_.nodes(l, nodes.begin, nodes.size());
    Node<T>* next = scratch.ancestors.data();
    for_ancestors(l, nodes, [&](int level, int64_t node) {
        const Tile<T> at = qkv().nodes(level, node, 1);
        *next++ = {part(at, 1).data, part(at, 2).data, at.stride[0]};
    });
    around.ancestors = {scratch.ancestors.data(), next};
    return around;
}

template <class T>
void Attention<T>::attend(int l, int64_t tile, Tile<T> qkv, Scratch& scratch) const {
    kernels::sequoia::attend_tree<T>(queue_, heads_, part(qkv, 0), part(qkv, 1), part(qkv, 2),
                                     around(l, tree_->nodes_of(l, tile), scratch),
                                     scratch.work.data(), part(qkv, 2));
}

template <class T>
void Attention<T>::attend_of_parents(int l, int64_t tile, Tile<const T> qkv,
                                     Scratch& scratch) const {
    for_parents(l, tree_->nodes_of(l, tile), [&](const Family& f) {
        const Tile<const T> parents = this->qkv().nodes(l + 1, f.parent, f.n_parent);
        const Tile<const T> some = columns(qkv, f.child, f.n_child);
        kernels::sequoia::attend_children<T>(queue_, heads_, tree_->k(), f.n_last, part(parents, 0),
                                             part(some, 1), part(some, 2), scratch.work.data(),
                                             children_.nodes(l + 1, f.parent, f.n_parent));
    });
}

template class Attention<float>;
template class Attention<double>;

}  // namespace surrogate::impl::sequoia
