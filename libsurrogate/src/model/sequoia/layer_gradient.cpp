// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/layer_gradient.hpp"

#include <algorithm>
#include <array>

#include "libsurrogate/src/model/sequoia/sites.hpp"

namespace surrogate::impl::sequoia {

using kernels::Tile;

template <class T>
LayerGradient<T>::LayerGradient(const Config& config, const Layers<T>& layers,
                                const kernels::Queue& queue, const Dropout& dropout)
    : config_(config),
      layers_(layers),
      queue_(queue),
      dropout_(dropout),
      attention_(config, queue, true) {
    for (int64_t i = 0; i < config.num_layers; ++i) names_.emplace_back(layer_name(config, i));
}

template <class T>
void LayerGradient<T>::resize(const Tree& tree) {
    tree_ = &tree;
    visits_ = visits(config_.schedule, tree.n_level());
    attention_.resize(tree);
    attention_.resize(attend_scratch_);
    dqkv_.resize(tree, 3 * config_.inner_dim());
    thirds_.resize(tree, config_.inner_dim());
    const int64_t row = kernels::round_up(tree.tile_nodes(), kernels::lane_count);
    kept_.resize(visits_.size());
    for (size_t v = 0; v < visits_.size(); ++v)
        kept_[v].resize(tree.n_tile(visits_[v]) * config_.inner_dim() * row);
    ancestors_.reserve(static_cast<size_t>(attend_scratch_.ancestors.size()));
    for (kernels::Buffer<T>* buffer : {&inner_, &normed_, &dnormed_, &branch_})
        buffer->resize(config_.dim * row);
    for (kernels::Buffer<T>* buffer : {&saved_, &hidden_})
        buffer->resize(2 * config_.hidden_dim * row);
}

template <class T>
template <class Body>
void LayerGradient<T>::for_all(const Body& body) const {
    for (int l = 0; l < tree_->n_level(); ++l)
        for (int64_t tile = 0; tile < tree_->n_tile(l); ++tile) body(l, tile);
}

/// Stores v of the level of a visit, tile after tile.
template <class T>
void LayerGradient<T>::keep_values(size_t visit) {
    T* to = kept_[visit].data();
    for (int64_t tile = 0; tile < tree_->n_tile(visits_[visit]); ++tile) {
        const Tile<T> v = value(visits_[visit], tile);
        to = std::copy_n(v.data, v.shape[0] * v.stride[0], to);
    }
}

template <class T>
void LayerGradient<T>::put_back_values(size_t visit) {
    const T* from = kept_[visit].data();
    for (int64_t tile = 0; tile < tree_->n_tile(visits_[visit]); ++tile) {
        const Tile<T> v = value(visits_[visit], tile);
        const int64_t size = v.shape[0] * v.stride[0];
        std::copy_n(from, size, v.data);
        from += size;
    }
}

/// Recomputes the forward pass up to the last values.
template <class T>
void LayerGradient<T>::attend(const LayerWeights<T>& weights, const NodeTiles<T>& x) {
    const NodeTiles<T>& qkv = attention_.qkv();
    for_all([&](int l, int64_t tile) {
        const Tile<T> normed = scratch(normed_, config_.dim, x.tile(l, tile));
        kernels::normalise<T>(queue_, weights.norm1, x.tile(l, tile), normed);
        kernels::linear<T>(queue_, weights.qkv, normed, {}, qkv.tile(l, tile));
    });
    for (size_t visit = 0; visit < visits_.size(); ++visit) {
        const int l = visits_[visit];
        for (int64_t tile = 0; l > 0 && config_.has_children && tile < tree_->n_tile(l - 1); ++tile)
            attention_.attend_of_parents(l - 1, tile, qkv.tile(l - 1, tile), attend_scratch_);
        keep_values(visit);
        for (int64_t tile = 0; tile < tree_->n_tile(l); ++tile)
            attention_.attend(l, tile, qkv.tile(l, tile), attend_scratch_);
    }
}

/// Computes dnormed, the gradient of the MLP's input, from dx, the gradient of the layer's result.
template <class T>
void LayerGradient<T>::mlp_backward(int64_t i, const DropoutRows& rows, Tile<const T> normed,
                                    const Gradients& gradients, Tile<const T> dx, Tile<T> dnormed) {
    const LayerWeights<T>& weights = layers_.layer(i);
    const WeightName& name = names_[static_cast<size_t>(i)];
    const Tile<T> saved = scratch(saved_, 2 * config_.hidden_dim, dnormed);
    const Tile<T> hidden = scratch(hidden_, 2 * config_.hidden_dim, dnormed);
    const Tile<T> branch = scratch(branch_, config_.dim, dnormed);
    const std::array mlp = {gradients.linear(name + "mlpblock.0"),
                            gradients.linear(name + "mlpblock.3")};
    if (dropout_.drops(config_.dropout)) {
        const DropoutMlp<T> dropped = dropout_mlp<T>(config_, queue_, weights, dropout_, i);
        dropped.forward(rows, normed, saved, branch);
        for (int64_t c = 0; c < dx.shape[0]; ++c)
            std::copy_n(&dx(c, 0), dx.shape[1], &branch(c, 0));
        dropped.backward(rows, normed, saved, branch, mlp,
                         kernels::channels(hidden, 0, config_.hidden_dim), dnormed);
        return;
    }
    kernels::residual_mlp_forward<T>(queue_, weights.mlp.view(), normed, saved, false, branch);
    kernels::residual_mlp_backward<T>(queue_, weights.mlp.view(), normed, saved, dx, mlp, hidden,
                                      false, dnormed);
}

/// Computes dv and the gradient dx of the residual from dx, the gradient of the layer's result.
template <class T>
void LayerGradient<T>::finish_backward(int64_t i, int l, int64_t tile, Tile<T> x,
                                       const Gradients& gradients, Tile<T> dx) {
    const LayerWeights<T>& weights = layers_.layer(i);
    const WeightName& name = names_[static_cast<size_t>(i)];
    const DropoutRows rows = rows_of(*tree_, l, tile);
    const DropoutSite site = attention_site(config_, i);
    const bool drops = dropout_.drops(site.rate);
    const Tile<T> v = value(l, tile), dqkv = dqkv_.tile(l, tile);
    const Tile<T> inner = scratch(inner_, config_.dim, x);
    const Tile<T> normed = scratch(normed_, config_.dim, x);
    const Tile<T> dnormed = scratch(dnormed_, config_.dim, x);
    if (drops) {
        const Tile<T> branch = scratch(branch_, config_.dim, x);
        kernels::linear<T>(queue_, weights.ff, v, {}, branch);
        std::copy_n(x.data, x.shape[0] * x.stride[0], inner.data);
        dropout_.apply<T>(site, rows, branch, true, inner);
    } else {
        kernels::linear<T>(queue_, weights.ff, v, x, inner);
    }
    kernels::normalise<T>(queue_, weights.norm2, inner, normed);
    mlp_backward(i, rows, normed, gradients, dx, dnormed);
    kernels::normalise_backward<T>(queue_, weights.norm2, inner, dnormed, dx, dx,
                                   gradients.layer_norm(name + "norm2"));
    Tile<const T> dff = dx;
    if (drops) {
        dropout_.apply<T>(site, rows, dx, false, inner);
        dff = inner;
    }
    kernels::linear_gradient<T>(queue_, v, dff, gradients.linear(name + "mha.ff"));
    std::fill_n(dqkv.data, 2 * config_.inner_dim() * dqkv.stride[0], T(0));
    kernels::linear_backward<T>(queue_, weights.ff, dff, {}, false, attention_.part(dqkv, 2));
}

template <class T>
void LayerGradient<T>::tree_backward(int l, int64_t tile) {
    const Tile<T> qkv = attention_.qkv().tile(l, tile), dqkv = dqkv_.tile(l, tile);
    ancestors_.clear();
    attention_.for_ancestors(l, tile, [&](int level, int64_t node) {
        const Tile<T> at = dqkv_.nodes(level, node, 1);
        ancestors_.push_back(
            {attention_.part(at, 1).data, attention_.part(at, 2).data, at.stride[0]});
    });
    const auto part = [&](Tile<T> of, int which) { return attention_.part(of, which); };
    kernels::sequoia::attend_tree_backward<T>(
        queue_, attention_.heads(), part(qkv, 0), part(qkv, 1), part(qkv, 2),
        attention_.around(l, tile, attend_scratch_), thirds_.tile(l, tile), ancestors_,
        attend_scratch_.work.data(), part(dqkv, 0), part(dqkv, 1), part(dqkv, 2));
}

/// Differentiates the attention of parents to their children in a tile of level l. Adds the
/// gradients of the parents' queries and of the children's keys and values.
template <class T>
void LayerGradient<T>::children_backward(int l, int64_t tile) {
    const NodeTiles<T>& qkv = attention_.qkv();
    attention_.for_parents(l, tile, [&](const typename Attention<T>::Family& f) {
        const auto parents = [&](const NodeTiles<T>& of) {
            return attention_.part(of.nodes(l + 1, f.parent, f.n_parent), 0);
        };
        const auto some = [&](const NodeTiles<T>& of, int which) {
            return attention_.columns(attention_.part(of.tile(l, tile), which), f.child, f.n_child);
        };
        kernels::sequoia::attend_children_backward<T>(
            queue_, attention_.heads(), tree_->k(), f.n_last, parents(qkv), some(qkv, 1),
            some(qkv, 2), parents(thirds_), attend_scratch_.work.data(), parents(dqkv_),
            some(dqkv_, 1), some(dqkv_, 2));
    });
}

template <class T>
void LayerGradient<T>::visit_backward(size_t visit) {
    const int l = visits_[visit];
    put_back_values(visit);
    for (int64_t tile = 0; tile < tree_->n_tile(l); ++tile) {
        const Tile<T> dv = attention_.part(dqkv_.tile(l, tile), 2);
        kernels::sequoia::take_thirds<T>(queue_, dv, thirds_.tile(l, tile));
        tree_backward(l, tile);
    }
    if (l == 0 || !config_.has_children) return;
    for (int64_t tile = 0; tile < tree_->n_tile(l - 1); ++tile) children_backward(l - 1, tile);
}

/// Adds the gradient of the layer's input to dx, from dq, dk, dv.
template <class T>
void LayerGradient<T>::project_backward(const LayerWeights<T>& weights, const WeightName& name,
                                        Tile<T> x, const Gradients& gradients, Tile<T> dqkv,
                                        Tile<T> dx) {
    const Tile<T> normed = scratch(normed_, config_.dim, x);
    const Tile<T> dnormed = scratch(dnormed_, config_.dim, x);
    kernels::normalise<T>(queue_, weights.norm1, x, normed);
    kernels::linear_backward<T>(queue_, weights.qkv, dqkv, {}, false, dnormed);
    // The weights in the file produce unscaled queries.
    const Tile<T> dq = attention_.part(dqkv, 0);
    const T scale = static_cast<T>(query_scale(config_));
    std::for_each_n(dq.data, dq.shape[0] * dq.stride[0], [&](T& value) { value *= scale; });
    int which = 0;
    for (const char* projection : {"mha.W_q", "mha.W_k", "mha.W_v"}) {
        kernels::linear_gradient<T>(queue_, normed, attention_.part(dqkv, which++),
                                    gradients.linear(name + projection));
    }
    kernels::normalise_backward<T>(queue_, weights.norm1, x, dnormed, dx, dx,
                                   gradients.layer_norm(name + "norm1"));
}

template <class T>
void LayerGradient<T>::run(int64_t i, const NodeTiles<T>& x, const Gradients& gradients,
                           const NodeTiles<T>& dx) {
    const LayerWeights<T>& weights = layers_.layer(i);
    const WeightName& name = names_[static_cast<size_t>(i)];
    attend(weights, x);
    for_all([&](int l, int64_t tile) {
        finish_backward(i, l, tile, x.tile(l, tile), gradients, dx.tile(l, tile));
    });
    for (size_t visit = visits_.size(); visit-- > 0;) visit_backward(visit);
    for_all([&](int l, int64_t tile) {
        project_backward(weights, name, x.tile(l, tile), gradients, dqkv_.tile(l, tile),
                         dx.tile(l, tile));
    });
}

template <class T>
int64_t LayerGradient<T>::bytes() const {
    int64_t n_byte = attention_.bytes() + dqkv_.bytes() + thirds_.bytes() + attend_scratch_.bytes();
    for (const kernels::Buffer<T>& values : kept_) n_byte += values.bytes();
    for (const kernels::Buffer<T>* buffer :
         {&inner_, &normed_, &dnormed_, &saved_, &hidden_, &branch_})
        n_byte += buffer->bytes();
    return n_byte;
}

template class LayerGradient<float>;
template class LayerGradient<double>;

}  // namespace surrogate::impl::sequoia
