// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/gradient.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernels/embedding/embedding.hpp"
#include "libsurrogate/src/model/sequoia/sites.hpp"

namespace surrogate::impl::sequoia {

using kernels::Buffer;
using kernels::Tile;
using kernels::Tiles;

template <class T>
NetworkGradient<T>::NetworkGradient(const Config& config, const Layers<T>& layers,
                                    const kernels::Queue& queue, bool saves_less)
    : config_(config),
      layers_(layers),
      queue_(queue),
      embedding_(config, layers, queue),
      pass_(config, layers, queue),
      layer_(config, layers, queue, dropout_, saves_less),
      readout_(config, layers, queue),
      x_(static_cast<size_t>(config.num_layers + 1)),
      scratch_(static_cast<size_t>(queue.n_thread())) {
    pass_.set_dropout(&dropout_);
    const std::string next = config.num_layers > 0 ? layer_name(config, 0) + "norm1" : "model.norm";
    n_embedding_ = layers.weights.master().find(next + ".weight")->first;
}

template <class T>
void NetworkGradient<T>::resize(const Tree& tree) {
    tree_ = &tree;
    chunks_.resize(tree, block_level(tree.n_leaf(), tree.k()));
    embedding_.resize(tree);
    pass_.resize(tree, !layer_.saves_less());
    layer_.resize(tree, chunks_);
    readout_.resize(tree, tree.size());
    gather_.resize(tree, std::max(config_.dim, config_.inner_dim()), tree.size());
    for (NodeTiles<T>& x : x_) x.resize(tree, config_.dim);
    dx_.resize(tree, config_.dim);
    const int64_t row = kernels::round_up(tree.tile_nodes(), kernels::lane_count);
    for (Scratch& s : scratch_) {
        for (Buffer<T>* buffer : {&s.x, &s.dx, &s.normed, &s.dnormed})
            buffer->resize(config_.dim * row);
        for (Buffer<T>* buffer : {&s.saved, &s.hidden})
            buffer->resize(2 * config_.hidden_dim * row);
        for (Buffer<T>* buffer : {&s.y, &s.dy}) buffer->resize(config_.num_classes * row);
        for (Buffer<T>* buffer : {&s.dfeatures, &s.angles}) buffer->resize(config_.c_in * row);
        s.dinputs.resize(config_.dimensionality * row);
    }
    share_.resize(config_.dim);
    const Range own = tree.owned(0);
    sequence_.resize(config_.features == Features::tokens ? own.size() : 0);
    std::iota(sequence_.begin(), sequence_.end(), own.begin);
}

/// Multiplies the nodes before the first layer, or their gradients, by their mask.
template <class T>
void NetworkGradient<T>::drop_embedding(const NodeTiles<T>& x) const {
    const DropoutSite site = embedding_site(config_);
    if (!dropout_.drops(site.rate)) return;
    for (int l = 0; l < tree_->n_level(); ++l) {
        queue_.parallel_for(tree_->n_tile(l), [&](int64_t tile, int) {
            dropout_.apply<T>(site, rows_of(*tree_, l, tile), x.tile(l, tile));
        });
    }
}

template <class T>
void NetworkGradient<T>::forward(Communicator& comm, const LeafInputs<T>& inputs,
                                 const Predictions<T>& y) {
    embedding_.run(inputs, comm, gather_, x_[0]);
    drop_embedding(x_[0]);
    for (int64_t i = 0; i < config_.num_layers; ++i) {
        NodeTiles<T>& next = x_[static_cast<size_t>(i + 1)];
        next.assign(queue_, nodes(i));
        pass_.run(i, comm, gather_, next, layer_.values(i));
    }
    readout_.run(comm, x_.back(), y.leaves);
    if (y.rows) std::copy_n(readout_.rows(), n_row() * config_.num_classes, y.rows);
}

template <class T>
template <class Body>
void NetworkGradient<T>::for_chunks(GradientSums& sums, Range range, const Body& body) {
    sequoia::for_chunks(chunks_, queue_, layers_.weights.master(), sums, range,
                        [&](int64_t chunk, int thread, const Gradients& gradients) {
                            chunks_.for_pieces(chunk, [&](const LevelNodes& at) {
                                body(at, gradients, scratch_[static_cast<size_t>(thread)]);
                            });
                        });
}

template <class T>
void NetworkGradient<T>::head_backward(Tile<T> normed, Tile<const T> dy, const Gradients& gradients,
                                       Tile<T> dnormed, Scratch& s) {
    const Tile<T> saved = scratch(s.saved, 2 * config_.hidden_dim, normed);
    kernels::residual_mlp_forward<T>(queue_, layers_.head.view(), normed, saved, false,
                                     scratch(s.y, config_.num_classes, normed));
    const std::array head = {gradients.linear("seq_classifer.mlpblock.0"),
                             gradients.linear("seq_classifer.mlpblock.2")};
    kernels::residual_mlp_backward<T>(queue_, layers_.head.view(), normed, saved, dy, head,
                                      scratch(s.hidden, 2 * config_.hidden_dim, normed), false,
                                      dnormed);
}

/// Computes dx of nodes x after the last layer from the gradients of their norm.
template <class T>
void NetworkGradient<T>::norm_backward(const LevelNodes& at, Tile<const T> x, Tile<const T> dnormed,
                                       const Gradients& gradients, Scratch& s) {
    const Tile<T> dx = dx_.load(at.level, at.nodes, 0, config_.dim, s.dx);
    kernels::normalise_backward<T>(queue_, layers_.norm, x, dnormed, {}, dx,
                                   gradients.layer_norm("model.norm"));
    dx_.store(at.level, at.nodes, 0, dx);
}

/// Returns the gradient of the predictions of some nodes.
template <class T>
Tile<T> NetworkGradient<T>::dy_of(const LevelNodes& at, const Predictions<const T>& dy,
                                  Tile<T> like, Scratch& s) const {
    const Tile<T> some = scratch(s.dy, config_.num_classes, like);
    int64_t first_row = at.nodes.begin;
    for (int l = 0; l < at.level; ++l) first_row += readout_.reads(l) ? tree_->level(l).n : 0;
    // If there is only one leaf, a rank may hold a leaf that it does not own.
    const Range own = tree_->owned(0);
    for (int64_t i = 0; i < some.shape[1]; ++i) {
        const int64_t leaf = at.nodes.begin + i;
        const bool is_own = leaf >= own.begin && leaf < own.end;
        for (int64_t c = 0; c < config_.num_classes; ++c) {
            some(c, i) = dy.rows  ? dy.rows[(first_row + i) * config_.num_classes + c]
                         : is_own ? dy.leaves(c, leaf - own.begin)
                                  : T(0);
        }
    }
    return some;
}

/// Computes dx from the gradients of the predictions of nodes.
template <class T>
void NetworkGradient<T>::read_rows_backward(const Predictions<const T>& dy, GradientSums& sums) {
    const Range range =
        range_of(layers_.weights.master(), "model.norm.weight", "seq_classifer.mlpblock.2.bias");
    for_chunks(sums, range, [&](const LevelNodes& at, const Gradients& gradients, Scratch& s) {
        if (!readout_.reads(at.level)) return;
        const Tile<T> x = x_.back().load(at.level, at.nodes, 0, config_.dim, s.x);
        const Tile<T> normed = scratch(s.normed, config_.dim, x);
        const Tile<T> dnormed = scratch(s.dnormed, config_.dim, x);
        kernels::normalise<T>(queue_, layers_.norm, x, normed);
        head_backward(normed, dy_of(at, dy, x, s), gradients, dnormed, s);
        norm_backward(at, x, dnormed, gradients, s);
    });
}

/// Computes dx from the gradient of the cloud's prediction; all nodes that were read contribute
/// equally.
template <class T>
void NetworkGradient<T>::read_cloud_backward(const T* dy, GradientSums& sums) {
    if (readout_.n_read() == 0) return;
    const MasterWeights& master = layers_.weights.master();
    const Tile<T> cloud = readout_.cloud();
    const Tile<T> dy_row = scratch(scratch_[0].dy, config_.num_classes, cloud);
    for (int64_t c = 0; c < config_.num_classes; ++c) dy_row(c, 0) = dy[c];
    const Tile<T> dcloud = scratch(scratch_[0].dnormed, config_.dim, cloud);
    const bool is_counted = tree_->rank() == 0;
    head_backward(cloud, dy_row, Gradients(master, is_counted ? sums.open(0) : std::span<double>()),
                  dcloud, scratch_[0]);
    const Range head =
        range_of(master, "seq_classifer.mlpblock.0.weight", "seq_classifer.mlpblock.2.bias");
    if (is_counted) sums.close(0, head.begin, head.end);
    for (int64_t c = 0; c < config_.dim; ++c)
        share_[c] = dcloud(c, 0) / static_cast<T>(readout_.n_read());
    const Range norm = range_of(master, "model.norm.weight", "model.norm.bias");
    for_chunks(sums, norm, [&](const LevelNodes& at, const Gradients& gradients, Scratch& s) {
        if (!readout_.reads(at.level)) return;
        const Tile<T> x = x_.back().load(at.level, at.nodes, 0, config_.dim, s.x);
        const Tile<T> dnormed = scratch(s.dnormed, config_.dim, x);
        for (int64_t c = 0; c < config_.dim; ++c)
            std::fill_n(&dnormed(c, 0), x.stride[0], share_[c]);
        norm_backward(at, x, dnormed, gradients, s);
    });
}

/// Adds the gradients of means to the children. The forward pass computes all means first; it then
/// adds sinusoids, which are constants, and overwrites marked channels.
template <class T>
void NetworkGradient<T>::means_backward() {
    for (int l = 1; l < tree_->n_level() && config_.has_marker; ++l) {
        for (int64_t i = 0; i < dx_.level(l).n_point; ++i) dx_.level(l)(config_.dim - l, i) = 0;
    }
    const int64_t k = tree_->k();
    for (int l = tree_->n_level() - 2; l >= 0; --l) {
        queue_.parallel_for(tree_->n_tile(l), [&](int64_t tile, int) {
            const Range nodes = tree_->nodes_of(l, tile);
            const Tile<T> children = dx_.tile(l, tile);
            const int64_t row = dx_.level(l + 1).row;
            for (int64_t i = nodes.begin; i < nodes.end; ++i) {
                const int64_t p = i / k, end = std::min((p + 1) * k, tree_->level(l).n);
                const int64_t n_missing = config_.repeats_last ? (p + 1) * k - end : 0;
                const int64_t n_child = end - p * k + n_missing;
                const int64_t n_this = i + 1 == end ? 1 + n_missing : 1;
                const T* const parent = dx_.node(l + 1, p);
                for (int64_t c = 0; c < config_.dim; ++c) {
                    children(c, i - nodes.begin) +=
                        parent[c * row] * static_cast<T>(n_this) / static_cast<T>(n_child);
                }
            }
        });
    }
}

/// Computes the gradient of the leaves' inputs from the gradient of the features.
template <class T>
Tile<T> NetworkGradient<T>::features_backward(const LeafFeatures<T>& leaves, Tile<T> dfeatures,
                                              const Gradients& gradients, Scratch& s) {
    if (config_.features == Features::none) return dfeatures;
    const Tile<T> dinputs = scratch(s.dinputs, config_.dimensionality, leaves.given);
    if (config_.features == Features::fourier) {
        const int64_t n_feature = config_.c_in / 2;
        kernels::fourier_features_backward<T>(queue_, n_feature, layers_.fourier, leaves.given,
                                              leaves.features, dfeatures,
                                              scratch(s.angles, n_feature, leaves.given),
                                              gradients.at("pos_enc.linear.weight"), dinputs);
    } else {
        kernels::linear_gradient<T>(queue_, leaves.given, dfeatures, gradients.linear("pos_enc"));
        kernels::linear_backward<T>(queue_, layers_.linear_encoding, dfeatures, {}, false, dinputs);
    }
    return dinputs;
}

template <class T>
void NetworkGradient<T>::leaves_backward(Range nodes, const LeafInputs<T>& inputs,
                                         const Gradients& gradients, const Tiles<T>& dreal,
                                         int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const Tile<T> dx = dx_.load(0, nodes, 0, config_.dim, s.dx);
    const int64_t first = nodes.begin - tree_->owned(0).begin;
    const WeightName name = "model.embeddings.";
    if (config_.features == Features::tokens) {
        kernels::embed_rows_backward<T>(queue_, inputs.tokens + first, dx,
                                        gradients.at(name + "word_embeddings.weight"));
        kernels::embed_rows_backward<T>(queue_, sequence_.data() + first, dx,
                                        gradients.at(name + "position_embeddings.weight"));
        return;
    }
    const LeafFeatures<T> leaves =
        embedding_.features({first, first + nodes.size()}, inputs, thread);
    const Tile<T> dfeatures = scratch(s.dfeatures, config_.c_in, dx);
    kernels::linear_gradient<T>(queue_, leaves.features, dx,
                                gradients.linear(name + "feature_embeddings"));
    kernels::linear_backward<T>(queue_, layers_.embedding, dx, {}, false, dfeatures);
    const Tile<T> dgiven = features_backward(leaves, dfeatures, gradients, s);
    const int64_t skipped = Embedding<T>::n_skipped(config_);
    for (int64_t i = 0; i < dx.shape[1] && dreal.data; ++i) {
        for (int64_t c = 0; c < skipped; ++c) dreal(c, first + i) = 0;
        for (int64_t c = 0; c < dgiven.shape[0]; ++c) dreal(skipped + c, first + i) = dgiven(c, i);
    }
}

template <class T>
void NetworkGradient<T>::backward(Communicator& comm, const LeafInputs<T>& inputs,
                                  const Predictions<const T>& dy, GradientSums& sums,
                                  const Tiles<T>& dreal) {
    dx_.fill(queue_, 0);
    if (place_of(config_) == Place::cloud) {
        read_cloud_backward(dy.rows, sums);
    } else {
        read_rows_backward(dy, sums);
    }
    for (int64_t i = config_.num_layers; i-- > 0;)
        layer_.run(i, comm, gather_, nodes(i), sums, dx_);
    drop_embedding(dx_);
    means_backward();
    // A rank without leaves may hold the only leaf of another rank.
    if (tree_->owned(0).size() == 0) return;
    const MasterWeights& master = layers_.weights.master();
    sequoia::for_chunks(chunks_, queue_, master, sums, {0, n_embedding_},
                        [&](int64_t chunk, int thread, const Gradients& gradients) {
                            chunks_.for_pieces(chunk, [&](const LevelNodes& at) {
                                if (at.level == 0)
                                    leaves_backward(at.nodes, inputs, gradients, dreal, thread);
                            });
                        });
}

template <class T>
int64_t NetworkGradient<T>::bytes() const {
    int64_t n_byte = embedding_.bytes() + pass_.bytes() + layer_.bytes() + readout_.bytes() +
                     gather_.bytes() + dx_.bytes() + share_.bytes() + sequence_.bytes();
    for (const NodeTiles<T>& x : x_) n_byte += x.bytes();
    for (const Scratch& s : scratch_) {
        for (const Buffer<T>* buffer : {&s.x, &s.dx, &s.normed, &s.dnormed, &s.saved, &s.hidden,
                                        &s.y, &s.dy, &s.dfeatures, &s.dinputs, &s.angles})
            n_byte += buffer->bytes();
    }
    return n_byte;
}

template class NetworkGradient<float>;
template class NetworkGradient<double>;

}  // namespace surrogate::impl::sequoia
