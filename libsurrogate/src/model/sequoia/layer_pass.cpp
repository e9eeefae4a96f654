// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/layer_pass.hpp"

#include <algorithm>

#include "libsurrogate/src/model/sequoia/sites.hpp"

namespace surrogate::impl::sequoia {

using kernels::Tile;

template <class T>
void LayerValues<T>::resize(const Config& config, const Tree& tree, bool has_inner) {
    const std::vector<int> levels = visits(config.schedule, tree.n_level());
    const int64_t row = kernels::round_up(tree.tile_nodes(), kernels::lane_count);
    qkv.resize(tree, 3 * config.inner_dim());
    before.resize(levels.size());
    for (size_t v = 0; v < levels.size(); ++v)
        before[v].resize(tree.n_tile(levels[v]) * config.inner_dim() * row);
    if (has_inner) inner.resize(tree, config.dim);
}

template <class T>
int64_t LayerValues<T>::bytes() const {
    int64_t n_byte = qkv.bytes() + inner.bytes();
    for (const kernels::Buffer<T>& values : before) n_byte += values.bytes();
    return n_byte;
}

template <class T>
LayerPass<T>::LayerPass(const Config& config, const Layers<T>& layers, const kernels::Queue& queue)
    : config_(config),
      layers_(layers),
      queue_(queue),
      attention_(config, queue, config.schedule != Schedule::bottom_up),
      scratch_(static_cast<size_t>(queue.n_thread())) {}

template <class T>
void LayerPass<T>::resize(const Tree& tree, bool stores) {
    tree_ = &tree;
    visits_ = visits(config_.schedule, tree.n_level());
    attention_.resize(tree, !stores);
    const int64_t row = kernels::round_up(tree.tile_nodes(), kernels::lane_count);
    for (Scratch& scratch : scratch_) {
        scratch.normed.resize(config_.dim * row);
        scratch.qkv.resize(attention_.keeps_leaves() ? 0 : 3 * config_.inner_dim() * row);
        scratch.mlp.resize(2 * config_.hidden_dim * row);
        scratch.branch.resize(dropout_ && config_.dropout > 0 ? config_.dim * row : 0);
        attention_.resize(scratch.attention);
    }
}

template <class T>
int64_t LayerPass<T>::n_gather(const Config& config, const Tree& tree) {
    if (!config.has_children || tree.cut() == 0) return 0;
    return std::ranges::count(visits(config.schedule, tree.n_level()), tree.cut());
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

template <class T>
void LayerPass<T>::keep_inner(const TilePlace& place, Tile<const T> x) const {
    if (values_)
        std::copy_n(x.data, x.shape[0] * x.stride[0],
                    values_->inner.tile(place.level, place.tile).data);
}

template <class T>
void LayerPass<T>::finish(const TilePlace& place, Tile<const T> v, Scratch& scratch,
                          Tile<T> x) const {
    if (drops()) return finish_with_dropout(place, v, scratch, x);
    const LayerWeights<T>& weights = layers_.layer(place.layer);
    const Tile<T> normed{scratch.normed.data(), x.shape, x.stride};
    const Tile<T> hidden{scratch.mlp.data(), {2 * config_.hidden_dim, x.shape[1]}, x.stride};
    kernels::linear<T>(queue_, weights.ff, v, x, x);
    keep_inner(place, x);
    kernels::normalise<T>(queue_, weights.norm2, x, normed);
    kernels::residual_mlp<T>(queue_, weights.mlp.view(), normed, hidden, true, x);
}

template <class T>
void LayerPass<T>::finish_with_dropout(const TilePlace& place, Tile<const T> v, Scratch& scratch,
                                       Tile<T> x) const {
    const LayerWeights<T>& weights = layers_.layer(place.layer);
    const DropoutRows rows = rows_of(*tree_, place.level, place.tile);
    const Tile<T> normed{scratch.normed.data(), x.shape, x.stride};
    const Tile<T> branch{scratch.branch.data(), x.shape, x.stride};
    const Tile<T> saved{scratch.mlp.data(), {2 * config_.hidden_dim, x.shape[1]}, x.stride};
    kernels::linear<T>(queue_, weights.ff, v, {}, branch);
    dropout_->apply<T>(attention_site(config_, place.layer), rows, branch, true, x);
    keep_inner(place, x);
    kernels::normalise<T>(queue_, weights.norm2, x, normed);
    dropout_mlp<T>(config_, queue_, weights, *dropout_, place.layer)
        .forward(rows, normed, saved, branch);
    add<T>(branch, x);
}

/// Evaluates all steps of layer i on the leaves, in the bottom-up schedule.
template <class T>
void LayerPass<T>::run_leaves(int64_t i, const NodeTiles<T>& x) {
    const LayerWeights<T>& weights = layers_.layer(i);
    const bool has_parents = tree_->n_level() > 1 && config_.has_children;
    for_tiles(0, [&](int64_t tile, Scratch& scratch) {
        const Tile<T> own = x.tile(0, tile);
        const Tile<T> qkv =
            values_
                ? values_->qkv.tile(0, tile)
                : Tile<T>{scratch.qkv.data(), {3 * config_.inner_dim(), own.shape[1]}, own.stride};
        project(weights, own, scratch, qkv);
        if (values_) values_->keep(0, 0, tile);
        attention_.attend(0, tile, qkv, scratch.attention);
        if (has_parents) attention_.attend_of_parents(0, tile, qkv, scratch.attention);
        finish({i, 0, tile}, attention_.part(qkv, 2), scratch, own);
    });
}

template <class T>
void LayerPass<T>::visit(size_t visit, Communicator& comm, CutGather<T>& gather) {
    const NodeTiles<T>& qkv = attention_.qkv();
    const int l = visits_[visit];
    if (l > 0 && config_.has_children) {
        if (l > 1 || attention_.keeps_leaves()) {
            for_tiles(l - 1, [&](int64_t tile, Scratch& scratch) {
                attention_.attend_of_parents(l - 1, tile, qkv.tile(l - 1, tile), scratch.attention);
            });
        }
        if (l == tree_->cut()) gather.run(comm, attention_.children().level(l));
    }
    for_tiles(l, [&](int64_t tile, Scratch& scratch) {
        if (values_) values_->keep(visit, l, tile);
        attention_.attend(l, tile, qkv.tile(l, tile), scratch.attention);
    });
}

template <class T>
void LayerPass<T>::run(int64_t i, Communicator& comm, CutGather<T>& gather, const NodeTiles<T>& x,
                       LayerValues<T>* values) {
    const LayerWeights<T>& weights = layers_.layer(i);
    values_ = values;
    attention_.use(values ? &values->qkv : nullptr);
    const NodeTiles<T>& qkv = attention_.qkv();
    const int first = attention_.keeps_leaves() ? 0 : 1;
    for (int l = first; l < tree_->n_level(); ++l) {
        for_tiles(l, [&](int64_t tile, Scratch& scratch) {
            project(weights, x.tile(l, tile), scratch, qkv.tile(l, tile));
        });
    }
    if (first == 1) run_leaves(i, x);
    for (size_t v = 0; v < visits_.size(); ++v) {
        if (visits_[v] >= first) visit(v, comm, gather);
    }
    for (int l = first; l < tree_->n_level(); ++l) {
        for_tiles(l, [&](int64_t tile, Scratch& scratch) {
            finish({i, l, tile}, attention_.part(qkv.tile(l, tile), 2), scratch, x.tile(l, tile));
        });
    }
}

template <class T>
int64_t LayerPass<T>::bytes() const {
    int64_t n_byte = attention_.bytes();
    for (const Scratch& s : scratch_)
        n_byte += s.normed.bytes() + s.qkv.bytes() + s.mlp.bytes() + s.branch.bytes() +
                  s.attention.bytes();
    return n_byte;
}

template class LayerPass<float>;
template class LayerPass<double>;

}  // namespace surrogate::impl::sequoia
