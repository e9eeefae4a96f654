// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/gradient.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernels/embedding/embedding.hpp"
#include "libsurrogate/src/model/sequoia/sites.hpp"

namespace surrogate::impl::sequoia {

using kernels::Tile;
using kernels::Tiles;

template <class T>
NetworkGradient<T>::NetworkGradient(const Config& config, const Layers<T>& layers,
                                    const kernels::Queue& queue)
    : config_(config),
      layers_(layers),
      queue_(queue),
      self_(self_communicator()),
      embedding_(config, layers, queue),
      pass_(config, layers, queue),
      layer_(config, layers, queue, dropout_),
      readout_(config, layers, queue),
      x_(static_cast<size_t>(config.num_layers + 1)) {
    pass_.set_dropout(&dropout_);
}

template <class T>
void NetworkGradient<T>::resize(const Tree& tree) {
    tree_ = &tree;
    embedding_.resize(tree);
    pass_.resize(tree);
    layer_.resize(tree);
    readout_.resize(tree, 1);
    gather_.resize(tree, std::max(config_.dim, config_.inner_dim()), 1);
    for (NodeTiles<T>& x : x_) x.resize(tree, config_.dim);
    dx_.resize(tree, config_.dim);
    const int64_t row = kernels::round_up(tree.tile_nodes(), kernels::lane_count);
    for (kernels::Buffer<T>* buffer : {&normed_, &dnormed_}) buffer->resize(config_.dim * row);
    for (kernels::Buffer<T>* buffer : {&saved_, &hidden_})
        buffer->resize(2 * config_.hidden_dim * row);
    for (kernels::Buffer<T>* buffer : {&y_, &dy_}) buffer->resize(config_.num_classes * row);
    for (kernels::Buffer<T>* buffer : {&dfeatures_, &angles_}) buffer->resize(config_.c_in * row);
    dinputs_.resize(config_.dimensionality * row);
    share_.resize(config_.dim);
    sequence_.resize(config_.features == Features::tokens ? tree.n_leaf() : 0);
    std::iota(sequence_.begin(), sequence_.end(), int64_t{0});
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
void NetworkGradient<T>::forward(const LeafInputs<T>& inputs, const Predictions<T>& y) {
    embedding_.run(inputs, *self_, gather_, x_[0]);
    drop_embedding(x_[0]);
    for (int64_t i = 0; i < config_.num_layers; ++i) {
        NodeTiles<T>& next = x_[static_cast<size_t>(i + 1)];
        next.assign(nodes(i));
        pass_.run(i, *self_, gather_, next);
    }
    readout_.run(*self_, x_.back(), y.leaves);
    if (y.rows) std::copy_n(readout_.rows(), n_row() * config_.num_classes, y.rows);
}

template <class T>
void NetworkGradient<T>::head_backward(Tile<T> normed, Tile<const T> dy, const Gradients& gradients,
                                       Tile<T> dnormed) {
    const Tile<T> saved = scratch(saved_, 2 * config_.hidden_dim, normed);
    kernels::residual_mlp_forward<T>(queue_, layers_.head.view(), normed, saved, false,
                                     scratch(y_, config_.num_classes, normed));
    const std::array head = {gradients.linear("seq_classifer.mlpblock.0"),
                             gradients.linear("seq_classifer.mlpblock.2")};
    kernels::residual_mlp_backward<T>(queue_, layers_.head.view(), normed, saved, dy, head,
                                      scratch(hidden_, 2 * config_.hidden_dim, normed), false,
                                      dnormed);
}

/// Returns the gradient of the predictions of a tile of nodes.
template <class T>
Tile<T> NetworkGradient<T>::dy_of(int l, int64_t tile, int64_t first_row,
                                  const Predictions<const T>& dy) {
    const Tile<T> some = scratch(dy_, config_.num_classes, dx_.tile(l, tile));
    const int64_t first = tile * tree_->tile_nodes();
    for (int64_t i = 0; i < some.shape[1]; ++i) {
        for (int64_t c = 0; c < config_.num_classes; ++c) {
            some(c, i) = dy.rows ? dy.rows[(first_row + first + i) * config_.num_classes + c]
                                 : dy.leaves(c, first + i);
        }
    }
    return some;
}

/// Computes dx from the gradients of the predictions of nodes.
template <class T>
void NetworkGradient<T>::read_rows_backward(const Predictions<const T>& dy,
                                            const Gradients& gradients) {
    int64_t first_row = 0;
    for (int l = 0; l < tree_->n_level(); ++l) {
        if (!readout_.reads(l)) continue;
        for (int64_t tile = 0; tile < tree_->n_tile(l); ++tile) {
            const Tile<T> x = x_.back().tile(l, tile);
            const Tile<T> normed = scratch(normed_, config_.dim, x);
            const Tile<T> dnormed = scratch(dnormed_, config_.dim, x);
            kernels::normalise<T>(queue_, layers_.norm, x, normed);
            head_backward(normed, dy_of(l, tile, first_row, dy), gradients, dnormed);
            kernels::normalise_backward<T>(queue_, layers_.norm, x, dnormed, {}, dx_.tile(l, tile),
                                           gradients.layer_norm("model.norm"));
        }
        first_row += tree_->level(l).n;
    }
}

/// Computes dx from the gradient of the cloud's prediction; all nodes that were read contribute
/// equally.
template <class T>
void NetworkGradient<T>::read_cloud_backward(const T* dy, const Gradients& gradients) {
    if (readout_.n_read() == 0) return;
    const Tile<T> cloud = readout_.cloud();
    const Tile<T> dy_row = scratch(dy_, config_.num_classes, cloud);
    for (int64_t c = 0; c < config_.num_classes; ++c) dy_row(c, 0) = dy[c];
    const Tile<T> dcloud = scratch(dnormed_, config_.dim, cloud);
    head_backward(cloud, dy_row, gradients, dcloud);
    for (int64_t c = 0; c < config_.dim; ++c)
        share_[c] = dcloud(c, 0) / static_cast<T>(readout_.n_read());
    for (int l = 0; l < tree_->n_level(); ++l) {
        if (!readout_.reads(l)) continue;
        for (int64_t tile = 0; tile < tree_->n_tile(l); ++tile) {
            const Tile<T> x = x_.back().tile(l, tile);
            const Tile<T> dnormed = scratch(dnormed_, config_.dim, x);
            for (int64_t c = 0; c < config_.dim; ++c)
                std::fill_n(&dnormed(c, 0), x.stride[0], share_[c]);
            kernels::normalise_backward<T>(queue_, layers_.norm, x, dnormed, {}, dx_.tile(l, tile),
                                           gradients.layer_norm("model.norm"));
        }
    }
}

/// Adds the gradients of means to the children. The forward pass computes all means first; it then
/// adds sinusoids, which are constants, and overwrites marked channels.
template <class T>
void NetworkGradient<T>::means_backward() {
    for (int l = 1; l < tree_->n_level() && config_.has_marker; ++l) {
        for (int64_t i = 0; i < dx_.level(l).n_point; ++i) dx_.level(l)(config_.dim - l, i) = 0;
    }
    for (int l = tree_->n_level() - 1; l > 0; --l) {
        const Tiles<T> parents = dx_.level(l), children = dx_.level(l - 1);
        for (int64_t i = 0; i < children.n_point; ++i) {
            const int64_t p = i / tree_->k(),
                          end = std::min((p + 1) * tree_->k(), children.n_point);
            const int64_t n_missing = config_.repeats_last ? (p + 1) * tree_->k() - end : 0;
            const int64_t n_child = end - p * tree_->k() + n_missing;
            const int64_t n_this = i + 1 == end ? 1 + n_missing : 1;
            for (int64_t c = 0; c < config_.dim; ++c) {
                children(c, i) += parents(c, p) * static_cast<T>(n_this) / static_cast<T>(n_child);
            }
        }
    }
}

/// Computes the gradient of the leaves' inputs from the gradient of the features.
template <class T>
Tile<T> NetworkGradient<T>::features_backward(const LeafFeatures<T>& leaves, Tile<T> dfeatures,
                                              const Gradients& gradients) {
    if (config_.features == Features::none) return dfeatures;
    const Tile<T> dinputs = scratch(dinputs_, config_.dimensionality, leaves.given);
    if (config_.features == Features::fourier) {
        const int64_t n_feature = config_.c_in / 2;
        kernels::fourier_features_backward<T>(queue_, n_feature, layers_.fourier, leaves.given,
                                              leaves.features, dfeatures,
                                              scratch(angles_, n_feature, leaves.given),
                                              gradients.at("pos_enc.linear.weight"), dinputs);
    } else {
        kernels::linear_gradient<T>(queue_, leaves.given, dfeatures, gradients.linear("pos_enc"));
        kernels::linear_backward<T>(queue_, layers_.linear_encoding, dfeatures, {}, false, dinputs);
    }
    return dinputs;
}

template <class T>
void NetworkGradient<T>::leaves_backward(int64_t tile, const LeafInputs<T>& inputs,
                                         const Gradients& gradients, const Tiles<T>& dreal) {
    const Tile<T> dx = dx_.tile(0, tile);
    const int64_t first = tile * tree_->tile_nodes();
    const WeightName name = "model.embeddings.";
    if (config_.features == Features::tokens) {
        kernels::embed_rows_backward<T>(queue_, inputs.tokens + first, dx,
                                        gradients.at(name + "word_embeddings.weight"));
        kernels::embed_rows_backward<T>(queue_, sequence_.data() + first, dx,
                                        gradients.at(name + "position_embeddings.weight"));
        return;
    }
    const LeafFeatures<T> leaves = embedding_.features(tile, dx.shape[1], inputs, 0);
    const Tile<T> dfeatures = scratch(dfeatures_, config_.c_in, dx);
    kernels::linear_gradient<T>(queue_, leaves.features, dx,
                                gradients.linear(name + "feature_embeddings"));
    kernels::linear_backward<T>(queue_, layers_.embedding, dx, {}, false, dfeatures);
    const Tile<T> dgiven = features_backward(leaves, dfeatures, gradients);
    const int64_t skipped = Embedding<T>::n_skipped(config_);
    for (int64_t i = 0; i < dx.shape[1] && dreal.data; ++i) {
        for (int64_t c = 0; c < skipped; ++c) dreal(c, first + i) = 0;
        for (int64_t c = 0; c < dgiven.shape[0]; ++c) dreal(skipped + c, first + i) = dgiven(c, i);
    }
}

template <class T>
void NetworkGradient<T>::backward(const LeafInputs<T>& inputs, const Predictions<const T>& dy,
                                  const Gradients& gradients, const Tiles<T>& dreal) {
    dx_.fill(0);
    if (place_of(config_) == Place::cloud) {
        read_cloud_backward(dy.rows, gradients);
    } else {
        read_rows_backward(dy, gradients);
    }
    for (int64_t i = config_.num_layers; i-- > 0;) layer_.run(i, nodes(i), gradients, dx_);
    drop_embedding(dx_);
    means_backward();
    for (int64_t tile = 0; tile < tree_->n_tile(0); ++tile)
        leaves_backward(tile, inputs, gradients, dreal);
}

template <class T>
int64_t NetworkGradient<T>::bytes() const {
    int64_t n_byte = embedding_.bytes() + pass_.bytes() + layer_.bytes() + readout_.bytes() +
                     gather_.bytes() + dx_.bytes() + share_.bytes() + sequence_.bytes();
    for (const NodeTiles<T>& x : x_) n_byte += x.bytes();
    for (const kernels::Buffer<T>* buffer :
         {&normed_, &dnormed_, &saved_, &hidden_, &y_, &dy_, &dfeatures_, &dinputs_, &angles_})
        n_byte += buffer->bytes();
    return n_byte;
}

template class NetworkGradient<float>;
template class NetworkGradient<double>;

}  // namespace surrogate::impl::sequoia
