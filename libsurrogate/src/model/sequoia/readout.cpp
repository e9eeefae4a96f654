// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/readout.hpp"

#include <algorithm>
#include <limits>

namespace surrogate::impl::sequoia {

using kernels::Tile;
using kernels::Tiles;

Place place_of(const Config& config) {
    if (config.is_mean || config.probe == Probe::root) return Place::cloud;
    return config.probe == Probe::leaves ? Place::leaves : Place::nodes;
}

template <class T>
Readout<T>::Readout(const Config& config, const Layers<T>& layers, const kernels::Queue& queue)
    : config_(config),
      layers_(layers),
      queue_(queue),
      scratch_(static_cast<size_t>(queue.n_thread())) {}

template <class T>
bool Readout<T>::reads(int l) const {
    if (config_.probe == Probe::root) return l == tree_->n_level() - 1;
    return l == 0 ? config_.probe != Probe::virtual_nodes : config_.probe != Probe::leaves;
}

template <class T>
int64_t Readout<T>::n_read() const {
    switch (config_.probe) {
        case Probe::leaves: return tree_->n_leaf();
        case Probe::root: return std::min<int64_t>(tree_->n_leaf(), 1);
        case Probe::virtual_nodes: return tree_->n_node() - tree_->n_leaf();
        case Probe::all: break;
    }
    return tree_->n_node();
}

template <class T>
void Readout<T>::resize(const Tree& tree, int size) {
    tree_ = &tree;
    size_ = size;
    const Place place = place_of(config_);
    n_row_ = place == Place::cloud ? 1 : place == Place::nodes ? n_read() : 0;
    rows_.resize(n_row_ * config_.num_classes);
    cloud_.resize(config_.dim * kernels::lane_count);
    int64_t longest = 0;
    for (int l = first_level(); l < tree.cut() && place == Place::nodes; ++l)
        longest = std::max(longest, tree.owned(l).size());
    own_rows_.resize(longest * config_.num_classes);
    n_bytes_.resize(static_cast<size_t>(size));
    if (place == Place::cloud && config_.probe != Probe::root) {
        sums_.resize(tree, config_.dim);
        gather_.resize(tree, config_.dim, size);
    }
    const int64_t row = kernels::round_up(tree.tile_nodes(), kernels::lane_count);
    for (Scratch& scratch : scratch_) {
        scratch.normed.resize(config_.dim * row);
        scratch.mlp.resize(2 * config_.hidden_dim * row);
        scratch.y.resize(config_.num_classes * row);
    }
}

template <class T>
template <class Body>
void Readout<T>::for_tiles(int l, const Body& body) {
    queue_.parallel_for(tree_->n_tile(l), [&](int64_t tile, int thread) {
        body(tile, scratch_[static_cast<size_t>(thread)]);
    });
}

template <class T>
Tile<T> Readout<T>::normed(Tile<const T> x, Scratch& scratch) const {
    const Tile<T> normed{scratch.normed.data(), x.shape, x.stride};
    kernels::normalise<T>(queue_, layers_.norm, x, normed);
    return normed;
}

template <class T>
Tile<T> Readout<T>::predict(Tile<const T> normed, Scratch& scratch) const {
    const int64_t n = normed.shape[1];
    const Tile<T> hidden{scratch.mlp.data(), {2 * config_.hidden_dim, n}, normed.stride};
    const Tile<T> y{scratch.y.data(), {config_.num_classes, n}, normed.stride};
    kernels::residual_mlp<T>(queue_, layers_.head.view(), normed, hidden, false, y);
    return y;
}

template <class T>
void Readout<T>::read_leaves(const NodeTiles<T>& x, const Tiles<T>& leaves) {
    // If there is only one leaf, a rank may hold a leaf that it does not own.
    const int64_t n_own = tree_->owned(0).size();
    for_tiles(0, [&](int64_t tile, Scratch& scratch) {
        const int64_t first = tile * tree_->tile_nodes();
        if (first >= n_own) return;
        const Tile<T> y = predict(normed(x.tile(0, tile), scratch), scratch);
        for (int64_t c = 0; c < y.shape[0]; ++c)
            for (int64_t i = 0; i < y.shape[1]; ++i) leaves(c, first + i) = y(c, i);
    });
}

/// Computes the rows of all nodes that are read, in the order of their absolute numbers.
template <class T>
void Readout<T>::read_nodes(Communicator& comm, const NodeTiles<T>& x) {
    const int64_t n_channel = config_.num_classes;
    int64_t first_row = 0;
    for (int l = first_level(); l < tree_->n_level(); first_row += tree_->level(l++).n) {
        const bool is_top = l >= tree_->cut();
        T* const to = is_top ? rows_.data() + first_row * n_channel : own_rows_.data();
        for_tiles(l, [&](int64_t tile, Scratch& scratch) {
            const Tile<T> y = predict(normed(x.tile(l, tile), scratch), scratch);
            T* row = to + tile * tree_->tile_nodes() * n_channel;
            for (int64_t i = 0; i < y.shape[1]; ++i)
                for (int64_t c = 0; c < n_channel; ++c) *row++ = y(c, i);
        });
        if (!is_top) gather_rows(comm, l, first_row);
    }
}

template <class T>
void Readout<T>::gather_rows(Communicator& comm, int l, int64_t first_row) {
    const int64_t row_bytes = CutGather<T>::row_bytes(config_.num_classes);
    for (int rank = 0; rank < size_; ++rank)
        n_bytes_[static_cast<size_t>(rank)] = tree_->owned(l, rank).size() * row_bytes;
    comm.all_gather_v(own_rows_.data(), rows_.data() + first_row * config_.num_classes, n_bytes_);
}

/// Adds the rows of a tile of level l to the sums of its nodes, then these sums to the sums of the
/// parents.
template <class T>
void Readout<T>::add_up(int l, int64_t tile, const NodeTiles<T>& x, Scratch& scratch) {
    const Tile<double> sums = sums_.tile(l, tile);
    const Tile<T> rows = reads(l) ? normed(x.tile(l, tile), scratch) : Tile<T>{};
    const bool has_parents = l + 1 < tree_->n_level();
    const int64_t k = tree_->k(), n = sums.shape[1];
    const int64_t parent = (tree_->level(l).held.begin + tile * tree_->tile_nodes()) / k;
    for (int64_t c = 0; c < config_.dim; ++c) {
        for (int64_t i = 0; i < n; ++i) {
            const double below = l > 0 ? sums(c, i) : 0;
            sums(c, i) = rows.data ? static_cast<double>(rows(c, i)) + below : below;
        }
    }
    for (int64_t begin = 0; begin < n && has_parents; begin += k) {
        const Tile<double> to = sums_.nodes(l + 1, parent + begin / k, 1);
        for (int64_t c = 0; c < config_.dim; ++c) {
            double sum = 0;
            for (int64_t i = begin; i < std::min(begin + k, n); ++i) sum += sums(c, i);
            to(c, 0) = sum;
        }
    }
}

template <class T>
void Readout<T>::read_mean(Communicator& comm, const NodeTiles<T>& x) {
    const int n_level = tree_->n_level();
    for (int l = 0; l < n_level; ++l) {
        if (l > 0 && l == tree_->cut()) gather_.run(comm, sums_.level(l));
        for_tiles(l, [&](int64_t tile, Scratch& scratch) { add_up(l, tile, x, scratch); });
    }
    if (n_read() == 0) {
        std::fill(rows_.begin(), rows_.end(), std::numeric_limits<T>::quiet_NaN());
        return;
    }
    const Tile<double> sums = sums_.tile(n_level - 1, 0);
    for (int64_t c = 0; c < config_.dim; ++c)
        cloud()(c, 0) = static_cast<T>(sums(c, 0) / static_cast<double>(n_read()));
    predict_cloud();
}

template <class T>
void Readout<T>::predict_cloud() {
    const Tile<T> y = predict(cloud(), scratch_[0]);
    for (int64_t c = 0; c < y.shape[0]; ++c) rows_[c] = y(c, 0);
}

template <class T>
void Readout<T>::run(Communicator& comm, const NodeTiles<T>& x, const Tiles<T>& leaves) {
    if (place_of(config_) == Place::leaves) return read_leaves(x, leaves);
    if (place_of(config_) == Place::nodes) return read_nodes(comm, x);
    if (config_.probe != Probe::root) return read_mean(comm, x);
    if (n_read() == 0) {
        std::fill(rows_.begin(), rows_.end(), std::numeric_limits<T>::quiet_NaN());
        return;
    }
    kernels::normalise<T>(queue_, layers_.norm, x.tile(tree_->n_level() - 1, 0), cloud());
    predict_cloud();
}

template <class T>
int64_t Readout<T>::bytes_sent() const {
    if (place_of(config_) == Place::leaves || config_.probe == Probe::root) return 0;
    const int64_t cut = tree_->cut();
    if (place_of(config_) == Place::cloud)
        return cut == 0
                   ? 0
                   : tree_->owned(tree_->cut()).size() * CutGather<double>::row_bytes(config_.dim);
    int64_t n = 0;
    for (int l = first_level(); l < cut; ++l) n += tree_->owned(l).size();
    return n * CutGather<T>::row_bytes(config_.num_classes);
}

template <class T>
int64_t Readout<T>::collectives() const {
    if (place_of(config_) == Place::leaves || config_.probe == Probe::root) return 0;
    if (place_of(config_) == Place::cloud) return tree_->cut() > 0 ? 1 : 0;
    return std::max(0, tree_->cut() - first_level());
}

template <class T>
int64_t Readout<T>::bytes() const {
    int64_t n_byte =
        rows_.bytes() + own_rows_.bytes() + cloud_.bytes() + sums_.bytes() + gather_.bytes();
    for (const Scratch& s : scratch_) n_byte += s.normed.bytes() + s.mlp.bytes() + s.y.bytes();
    return n_byte;
}

template class Readout<float>;
template class Readout<double>;

}  // namespace surrogate::impl::sequoia
