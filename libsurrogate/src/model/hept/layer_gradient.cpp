// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/layer_gradient.hpp"

#include <algorithm>
#include <array>

#include "libsurrogate/src/model/hept/scale_gradient.hpp"
#include "libsurrogate/src/model/hept/sites.hpp"

namespace surrogate::impl::hept {

using kernels::Tile;
using kernels::Tiles;
using kernels::hept::Block;
using kernels::hept::Head;

template <class T>
LayerGradient<T>::LayerGradient(const Config& config, const Layers<T>& layers,
                                const kernels::Queue& queue, const Dropout& dropout)
    : config_(config),
      layers_(layers),
      queue_(queue),
      dropout_(dropout),
      attention_(config, queue),
      scratch_(static_cast<size_t>(queue.n_thread())) {
    for (int64_t l = 0; l < config.n_layers; ++l)
        w_rpe_.push_back(layers.weights.at(layer_name(l) + "w_rpe.weight"));
}

template <class T>
void LayerGradient<T>::resize(const TokenPlan& plan) {
    plan_ = &plan;
    attention_.resize(plan);
    const int64_t d = config_.h_dim, n = plan.n_own(), row = kernels::tile_points;
    const int64_t n_query = shape().n_query(), n_sum = shape().n_sum();
    for (kernels::Buffer<T>* buffer : {&u_, &du_, &inner_})
        buffer->resize(d * kernels::round_up(n, row));
    kept_.resize(config_.num_heads * n * n_sum);
    given_.resize(n * n_sum);
    dqueries_.resize(n * n_query);
    dkeys_.resize(n * (n_query + d));
    for (kernels::Buffer<T>* buffer : {&normed_, &dnormed_}) buffer->resize(d * row);
    for (kernels::Buffer<T>* buffer : {&saved_, &hidden_}) buffer->resize(2 * d * row);
    heads_.resize(config_.num_heads * d * row);
    drows_.resize(row * shape().stride());
    augment_.resize(kernels::hept::augment_scratch(layers_.layers.front().heads.front().head));
    dqkv_.resize(3 * d * d);
    dscale_.resize(config_.coords_dim);
    for (Scratch& scratch : scratch_) {
        scratch.attend.resize(kernels::hept::attend_block_scratch(shape()));
        scratch.given.resize(config_.block_size * n_sum);
        scratch.dqueries.resize(config_.block_size * n_query);
        scratch.dkeys.resize(config_.block_size * (n_query + d));
    }
}

template <class T>
template <class Body>
void LayerGradient<T>::for_all(const Body& body) const {
    const int64_t n_tile = Tiles<T>{nullptr, 0, plan_->n_own()}.n_tile();
    for (int64_t tile = 0; tile < n_tile; ++tile) body(tile);
}

/// Stores the sums of head h over all tables.
template <class T>
void LayerGradient<T>::keep(int64_t h) {
    std::copy_n(attention_.sums().data(), plan_->n_own() * shape().n_sum(), kept(h, 0));
}

/// Recomputes the forward pass up to the MLP.
template <class T>
void LayerGradient<T>::attend(int64_t l, const Tiles<const T>& h, const Tiles<const T>& x) {
    const LayerWeights<T>& weights = layers_.layers[static_cast<size_t>(l)];
    const Tiles<T> u = tokens(u_), inner = tokens(inner_);
    const bool drops = dropout_.drops(config_.dropout);
    for_all([&](int64_t tile) {
        const Tile<const T> entered = h.tile(tile);
        kernels::normalise<T>(queue_, weights.norm1, entered, u.tile(tile));
        std::copy_n(entered.data, entered.shape[0] * entered.stride[0], inner.tile(tile).data);
    });
    for (int64_t head = 0; head < config_.num_heads; ++head) {
        const HeadWeights<T>& of_head = weights.heads[static_cast<size_t>(head)];
        attention_.augment(of_head.head, u, x);
        attention_.order(l, head);
        attention_.attend();
        keep(head);
        for_all([&](int64_t tile) {
            const Tile<T> to = inner.tile(tile), given = scratch(normed_, config_.h_dim, to);
            kernels::hept::combine_tables<T>(queue_, shape(), kept(head, tile), 0, 1, given);
            const bool is_alone = head == 0 && drops;
            kernels::linear<T>(queue_, of_head.out, given, is_alone ? Tile<const T>{} : to, to);
        });
    }
    if (!drops) return;
    for_all([&](int64_t tile) {
        const Tile<T> to = inner.tile(tile);
        dropout_.apply<T>(attention_site(config_, l), rows_of(*plan_, tile), to);
        add<T>(h.tile(tile), to);
    });
}

/// Returns the gradient of a branch from the gradient dh of the stream: dh, or with dropout its
/// product with the mask, in `to`.
template <class T>
Tile<const T> LayerGradient<T>::dropped(const DropoutSite& site, int64_t tile, Tile<const T> dh,
                                        Tile<T> to) const {
    if (!dropout_.drops(site.rate)) return dh;
    dropout_.apply<T>(site, rows_of(*plan_, tile), dh, false, to);
    return to;
}

/// Computes the gradient of the MLP's input from dh, the gradient of the layer's result, in place.
template <class T>
void LayerGradient<T>::finish_backward(int64_t l, int64_t tile, const Gradients& gradients,
                                       Tile<T> dh) {
    const LayerWeights<T>& weights = layers_.layers[static_cast<size_t>(l)];
    const WeightName name = layer_name(l);
    const int64_t d = config_.h_dim;
    const Tile<T> inner = tokens(inner_).tile(tile);
    const Tile<T> normed = scratch(normed_, d, dh), dnormed = scratch(dnormed_, d, dh);
    const Tile<T> saved = scratch(saved_, 2 * d, dh), hidden = scratch(hidden_, 2 * d, dh);
    kernels::normalise<T>(queue_, weights.norm2, inner, normed);
    kernels::residual_mlp_forward<T>(queue_, weights.ff.view(), normed, saved, false, dnormed);
    const std::array ff = {gradients.linear(name + "ff.0"), gradients.linear(name + "ff.2")};
    const Tile<T> heads = scratch(heads_, config_.num_heads * d, dh);
    const Tile<const T> dff =
        dropped(mlp_site(config_, l), tile, dh, kernels::channels(heads, 0, d));
    kernels::residual_mlp_backward<T>(queue_, weights.ff.view(), normed, saved, dff, ff, hidden,
                                      false, dnormed);
    kernels::normalise_backward<T>(queue_, weights.norm2, inner, dnormed, dh, dh,
                                   gradients.layer_norm(name + "norm2"));
    for (int64_t h = 0; h < config_.num_heads; ++h)
        kernels::hept::combine_tables<T>(queue_, shape(), kept(h, tile), 0, 1,
                                         kernels::channels(heads, h * d, d));
    kernels::linear_gradient<T>(queue_, heads, dropped(attention_site(config_, l), tile, dh, inner),
                                gradients.linear(name + "attn.out_linear"));
}

/// Computes the gradients of the sums of head h, which the blocks read for each query.
template <class T>
void LayerGradient<T>::give(const kernels::Linear<T>& out, int64_t h, const Tiles<T>& dh) {
    for_all([&](int64_t tile) {
        const Tile<T> given = scratch(normed_, config_.h_dim, dh.tile(tile));
        const Tile<T> dgiven = scratch(dnormed_, config_.h_dim, dh.tile(tile));
        kernels::hept::combine_tables<T>(queue_, shape(), kept(h, tile), 0, 1, given);
        kernels::linear_backward<T>(queue_, out, dh.tile(tile), {}, false, dgiven);
        kernels::hept::combine_tables_backward<T>(
            queue_, shape(), kept(h, tile), 0, 1, given, dgiven,
            given_.data() + tile * dh.n_column * shape().n_sum());
    });
}

/// Adds a block's gradients of its queries and of its keys.
template <class T>
void LayerGradient<T>::block_backward(const Block<T>& block, Scratch& scratch) {
    const int64_t n_sum = shape().n_sum(), n_query = shape().n_query();
    const int64_t n_key = n_query + config_.h_dim;
    T* given = scratch.given.data();
    for (const int32_t token : block.queries)
        given = std::copy_n(given_.data() + token * n_sum, n_sum, given);
    kernels::hept::attend_block_backward<T>(queue_, shape(), block, scratch.given.data(),
                                            scratch.attend.data(), scratch.dqueries.data(),
                                            scratch.dkeys.data());
    const auto add = [](const T* from, std::span<const int32_t> members, int64_t n, T* to) {
        for (const int32_t token : members)
            for (int64_t e = 0; e < n; ++e) to[token * n + e] += *from++;
    };
    add(scratch.dqueries.data(), block.queries, n_query, dqueries_.data());
    add(scratch.dkeys.data(), block.keys, n_key, dkeys_.data());
}

/// Differentiates all blocks. In a table each token occurs once among the queries and once among
/// the keys, so that blocks of a table write different rows.
template <class T>
void LayerGradient<T>::blocks_backward() {
    std::ranges::fill(dqueries_, T(0));
    std::ranges::fill(dkeys_, T(0));
    for (int64_t table = 0; table < config_.n_hashes; ++table) {
        queue_.parallel_for(attention_.n_block(), [&](int64_t i, int thread) {
            block_backward(attention_.block(table, i), scratch_[static_cast<size_t>(thread)]);
        });
    }
}

/// Adds up the gradients of the n rows of a tile; queries and keys share their coordinates.
template <class T>
void LayerGradient<T>::join_rows(int64_t tile, int64_t n) {
    const int64_t n_query = shape().n_query(), n_key = n_query + config_.h_dim;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t token = tile * kernels::tile_points + i;
        T* const row = drows_.data() + i * shape().stride();
        T* const shared = std::copy_n(dqueries_.data() + token * n_query, config_.h_dim, row);
        std::copy_n(dkeys_.data() + token * n_key, n_key, shared);
        const T* const of_query = dqueries_.data() + token * n_query + config_.h_dim;
        for (int64_t r = 0; r < config_.coords_dim; ++r) shared[r] += of_query[r];
    }
}

/// Computes du and dx from the gradients of the rows of head h, and adds the gradients of the
/// weights that form the rows.
template <class T>
void LayerGradient<T>::augment_backward(const Head<T>& head, int64_t l, int64_t h,
                                        const Tiles<const T>& x, const Gradients& gradients,
                                        const Tiles<T>& dx) {
    const WeightName name = layer_name(l);
    std::ranges::fill(dqkv_, 0.0);
    std::ranges::fill(dscale_, 0.0);
    for_all([&](int64_t tile) {
        const Tile<const T> u = tokens(u_).tile(tile);
        join_rows(tile, u.shape[1]);
        kernels::hept::augment_backward<T>(queue_, head, u, x.tile(tile), drows_.data(),
                                           augment_.data(), tokens(du_).tile(tile), dx.tile(tile),
                                           {dqkv_.data(), nullptr}, dscale_.data());
    });
    const int64_t n = config_.h_dim * config_.h_dim;
    const double* from = dqkv_.data();
    for (const char* projection : {"w_q.weight", "w_k.weight", "w_v.weight"}) {
        double* const to = gradients.at(name + projection) + h * n;
        for (int64_t i = 0; i < n; ++i) to[i] += *from++;
    }
    add_scale_gradient(config_, h, w_rpe_[static_cast<size_t>(l)], head.scale, dscale_.data(),
                       gradients.at(name + "w_rpe.weight"));
}

template <class T>
void LayerGradient<T>::run(int64_t l, const Tiles<const T>& h, const Tiles<const T>& x,
                           const Gradients& gradients, const Tiles<T>& dh, const Tiles<T>& dx) {
    const LayerWeights<T>& weights = layers_.layers[static_cast<size_t>(l)];
    const WeightName name = layer_name(l);
    attend(l, h, x);
    for_all([&](int64_t tile) { finish_backward(l, tile, gradients, dh.tile(tile)); });
    const Tiles<T> dattention = dropout_.drops(config_.dropout) ? tokens(inner_) : dh;
    std::ranges::fill(du_, T(0));
    for (int64_t head = 0; head < config_.num_heads; ++head) {
        const HeadWeights<T>& of_head = weights.heads[static_cast<size_t>(head)];
        give(of_head.out, head, dattention);
        attention_.augment(of_head.head, tokens(u_), x);
        attention_.order(l, head);
        blocks_backward();
        augment_backward(of_head.head, l, head, x, gradients, dx);
    }
    for_all([&](int64_t tile) {
        kernels::normalise_backward<T>(queue_, weights.norm1, h.tile(tile), tokens(du_).tile(tile),
                                       dh.tile(tile), dh.tile(tile),
                                       gradients.layer_norm(name + "norm1"));
    });
}

template <class T>
int64_t LayerGradient<T>::bytes() const {
    int64_t n_byte = attention_.bytes() + dqkv_.bytes() + dscale_.bytes();
    for (const kernels::Buffer<T>* buffer :
         {&u_, &du_, &inner_, &kept_, &given_, &dqueries_, &dkeys_, &normed_, &dnormed_, &saved_,
          &hidden_, &heads_, &drows_, &augment_})
        n_byte += buffer->bytes();
    for (const Scratch& s : scratch_)
        n_byte += s.attend.bytes() + s.given.bytes() + s.dqueries.bytes() + s.dkeys.bytes();
    return n_byte;
}

template class LayerGradient<float>;
template class LayerGradient<double>;

}  // namespace surrogate::impl::hept
