// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/ancestor_sums.hpp"

#include <algorithm>

namespace surrogate::impl::sequoia {

template <class T>
void AncestorSums<T>::resize(const Tree& tree, int64_t n_inner, int block, bool has_far_ancestors) {
    tree_ = &tree;
    n_inner_ = n_inner;
    block_ = block;
    // The root has no ancestors.
    const int n_level = has_far_ancestors ? tree.n_level() - 1 : 0;
    rows_.resize(static_cast<size_t>(std::max(n_level, 0)));
    for (int l = block; l < n_level; ++l) {
        kernels::Buffer<T>& rows = rows_[static_cast<size_t>(l)];
        rows.resize(tree.level(l).held.size() * n_above(l) * 2 * n_inner);
        std::ranges::fill(rows, T(0));
    }
    is_pending_.assign(rows_.size(), uint8_t{0});
    is_shared_level_behind_ = false;
    n_packed_ = 3 * n_inner + (tree.cut() < n_level ? n_above(tree.cut()) * 2 * n_inner : 0);
    const bool is_alone = tree.size() == 1;
    own_.resize(is_alone ? 0 : tree.owned(tree.cut()).size() * n_packed_);
    all_.resize(is_alone ? 0 : tree.level(tree.cut()).n * n_packed_);
    n_bytes_.resize(static_cast<size_t>(tree.size()));
    for (int rank = 0; rank < tree.size(); ++rank) {
        n_bytes_[static_cast<size_t>(rank)] =
            tree.owned(tree.cut(), rank).size() * n_packed_ * static_cast<int64_t>(sizeof(T));
    }
}

template <class T>
void AncestorSums<T>::complete(int l, Communicator& comm, const kernels::Queue& queue,
                               const NodeTiles<T>& dqkv) {
    const int end = std::min(l, tree_->n_level() - 1), cut = tree_->cut();
    for (int below = block_; below < end; ++below) {
        if (below == cut) gather(comm, dqkv);
        add_up(below, queue, dqkv);
    }
    if (end == cut) gather(comm, dqkv);
}

/// Adds the rows of level l to the rows of the parents, and to the parents themselves.
template <class T>
void AncestorSums<T>::add_up(int l, const kernels::Queue& queue, const NodeTiles<T>& dqkv) {
    if (l >= n_row_level() || !is_pending_[static_cast<size_t>(l)]) return;
    is_pending_[static_cast<size_t>(l)] = false;
    touch(l + 1);
    const Range held = tree_->level(l).held;
    if (held.size() == 0) return;
    const int64_t k = tree_->k(), first = held.begin / k;
    queue.parallel_for((held.end + k - 1) / k - first, [&](int64_t i, int) {
        const int64_t parent = first + i;
        T* const to = dqkv.node(l + 1, parent) + n_inner_ * dqkv.level(l + 1).row;
        for (int64_t child = parent * k; child < std::min((parent + 1) * k, held.end); ++child) {
            T* const of_parent = row_of(l, child, l + 1);
            for (int64_t c = 0; c < 2 * n_inner_; ++c)
                to[c * dqkv.level(l + 1).row] += of_parent[c];
            if (n_above(l) > 1) {
                T* const above = row_of(l + 1, parent, l + 2);
                for (int64_t c = 0; c < n_above(l + 1) * 2 * n_inner_; ++c)
                    above[c] += of_parent[2 * n_inner_ + c];
            }
            std::fill_n(of_parent, n_above(l) * 2 * n_inner_, T(0));
        }
    });
}

/// Copies dqkv and the rows of each rank's own nodes of the shared level to all ranks, if nodes
/// below it have contributed.
template <class T>
void AncestorSums<T>::gather(Communicator& comm, const NodeTiles<T>& dqkv) {
    if (!is_shared_level_behind_) return;
    is_shared_level_behind_ = false;
    if (comm.size() == 1) return;
    const int cut = tree_->cut();
    const Range own = tree_->owned(cut);
    const kernels::Tiles<T>& nodes = dqkv.level(cut);
    const int64_t n_row = n_packed_ - 3 * n_inner_;
    for (int64_t i = own.begin; i < own.end; ++i) {
        T* const to = own_.data() + (i - own.begin) * n_packed_;
        for (int64_t c = 0; c < 3 * n_inner_; ++c) to[c] = nodes(c, i);
        if (n_row > 0) std::copy_n(row_of(cut, i, cut + 1), n_row, to + 3 * n_inner_);
    }
    comm.all_gather_v(own_.data(), all_.data(), n_bytes_);
    for (int64_t i = 0; i < nodes.n_point; ++i) {
        const T* const from = all_.data() + i * n_packed_;
        for (int64_t c = 0; c < 3 * n_inner_; ++c) nodes(c, i) = from[c];
        if (n_row > 0) std::copy_n(from + 3 * n_inner_, n_row, row_of(cut, i, cut + 1));
    }
}

template <class T>
int64_t AncestorSums<T>::bytes() const {
    int64_t n_byte = own_.bytes() + all_.bytes();
    for (const kernels::Buffer<T>& rows : rows_) n_byte += rows.bytes();
    return n_byte;
}

template class AncestorSums<float>;
template class AncestorSums<double>;

}  // namespace surrogate::impl::sequoia
