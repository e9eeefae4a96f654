// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/layer_gradient.hpp"

#include <algorithm>
#include <array>

#include "libsurrogate/src/model/hept/scale_gradient.hpp"
#include "libsurrogate/src/model/hept/sites.hpp"

namespace surrogate::impl::hept {

using kernels::Buffer;
using kernels::Tile;
using kernels::Tiles;
using kernels::hept::Block;
using kernels::hept::Head;

template <class T>
LayerGradient<T>::LayerGradient(const Config& config, const Layers<T>& layers,
                                const kernels::Queue& queue, const Dropout& dropout,
                                bool saves_less)
    : config_(config),
      layers_(layers),
      queue_(queue),
      dropout_(dropout),
      attention_(config, queue),
      saves_less_(saves_less),
      values_(saves_less ? 1 : static_cast<size_t>(config.n_layers)),
      scratch_(static_cast<size_t>(queue.n_thread())) {
    for (int64_t l = 0; l < config.n_layers; ++l)
        w_rpe_.push_back(layers.weights.at(layer_name(l) + "w_rpe.weight"));
}

template <class T>
void LayerGradient<T>::resize(Communicator& comm, const TokenPlan& plan, const Chunks& chunks) {
    plan_ = &plan;
    chunks_ = &chunks;
    attention_.resize(plan);
    const int64_t d = config_.h_dim, row = kernels::tile_points;
    const int64_t n_query = shape().n_query(), n_sum = shape().n_sum();
    exchange_.resize(comm, plan, d, n_sum);
    gradient_exchange_.resize(comm, plan, n_sum, n_token_gradient());
    dtokens_.resize(plan, config_.num_heads, config_.n_hashes, n_token_gradient());
    u_.resize(d * kernels::round_up(plan.n_token(), row));
    du_.resize(d * kernels::round_up(plan.n_own(), row));
    for (LayerValues<T>& values : values_) {
        values.inner.resize(d * kernels::round_up(plan.n_own(), row));
        values.sums.resize(config_.num_heads * plan.n_own() * n_sum);
    }
    given_.resize(plan.n_token() * n_sum);
    for (Scratch& s : scratch_) {
        s.attend.resize(kernels::hept::attend_block_scratch(shape()));
        s.given.resize(config_.block_size * n_sum);
        s.dqueries.resize(config_.block_size * n_query);
        s.dkeys.resize(config_.block_size * (n_query + d));
        for (Buffer<T>* buffer : {&s.h, &s.dh, &s.inner, &s.normed, &s.dnormed})
            buffer->resize(d * row);
        for (Buffer<T>* buffer : {&s.saved, &s.hidden}) buffer->resize(2 * d * row);
        s.heads.resize(config_.num_heads * d * row);
        for (Buffer<T>* buffer : {&s.x, &s.dx}) buffer->resize(config_.coords_dim * row);
        s.drows.resize(row * shape().stride());
        s.augment.resize(kernels::hept::augment_scratch(layers_.layers.front().heads.front().head));
        s.dqkv.resize(3 * d * d);
        s.dscale.resize(config_.coords_dim);
    }
}

template <class T>
template <class Body>
void LayerGradient<T>::for_tiles(const Body& body) {
    const int64_t n_tile = Tiles<T>{nullptr, 0, plan_->n_own()}.n_tile();
    queue_.parallel_for(n_tile, [&](int64_t tile, int thread) {
        body(tile, scratch_[static_cast<size_t>(thread)]);
    });
}

/// Recomputes u and, unless they are stored, the sums of all heads and the tokens before the MLP.
template <class T>
void LayerGradient<T>::attend(int64_t l, Communicator& comm, const Tiles<const T>& h,
                              const Tiles<const T>& x) {
    const LayerWeights<T>& weights = layers_.layers[static_cast<size_t>(l)];
    const Tiles<T> inner = own(now_->inner);
    const bool drops = dropout_.drops(config_.dropout);
    for_tiles([&](int64_t tile, Scratch&) {
        const Tile<const T> entered = h.tile(tile);
        Tile<T> normed = u().tile(tile);
        normed.shape[1] = entered.shape[1];
        kernels::normalise<T>(queue_, weights.norm1, entered, normed);
        if (saves_less_)
            std::copy_n(entered.data, entered.shape[0] * entered.stride[0], inner.tile(tile).data);
    });
    exchange_.visit(comm, queue_, u());
    if (!saves_less_) return;
    for (int64_t head = 0; head < config_.num_heads; ++head) {
        const HeadWeights<T>& of_head = weights.heads[static_cast<size_t>(head)];
        HeadSums<T>& sums = attention_.sums();
        sums.begin(head);
        attention_.augment(of_head.head, u(), x);
        attention_.order(l, head);
        attention_.attend();
        exchange_.return_sums(comm, queue_, head, sums);
        std::copy_n(sums.data(), plan_->n_own() * shape().n_sum(), kept(head, 0));
        for_tiles([&](int64_t tile, Scratch& s) {
            const Tile<T> to = inner.tile(tile), given = scratch(s.normed, config_.h_dim, to);
            kernels::hept::combine_tables<T>(queue_, shape(), kept(head, tile * inner.n_column), 0,
                                             1, given);
            const bool is_alone = head == 0 && drops;
            kernels::linear<T>(queue_, of_head.out, given, is_alone ? Tile<const T>{} : to, to);
        });
    }
    if (!drops) return;
    for_tiles([&](int64_t tile, Scratch&) {
        const Tile<T> to = inner.tile(tile);
        dropout_.apply<T>(attention_site(config_, l), rows_of(*plan_, tile), to);
        add<T>(h.tile(tile), to);
    });
}

/// Returns the gradient of a branch from the gradient dh of the stream: dh, or with dropout its
/// product with the mask, in `to`.
template <class T>
Tile<const T> LayerGradient<T>::dropped(const DropoutSite& site, Range tokens, Tile<const T> dh,
                                        Tile<T> to) const {
    if (!dropout_.drops(site.rate)) return dh;
    dropout_.apply<T>(site, rows_from(*plan_, tokens.begin), dh, false, to);
    return to;
}

/// Computes the gradient of the MLP's input from dh, the gradient of the layer's result, in place.
template <class T>
void LayerGradient<T>::finish_backward(int64_t l, Range tokens, const Gradients& gradients,
                                       const Tiles<T>& dh_of, Scratch& s) {
    const LayerWeights<T>& weights = layers_.layers[static_cast<size_t>(l)];
    const WeightName name = layer_name(l);
    const int64_t d = config_.h_dim;
    const Tile<T> dh = load<T>(dh_of, tokens, s.dh),
                  inner = load<T>(own(now_->inner), tokens, s.inner);
    const Tile<T> normed = scratch(s.normed, d, dh), dnormed = scratch(s.dnormed, d, dh);
    const Tile<T> saved = scratch(s.saved, 2 * d, dh), hidden = scratch(s.hidden, 2 * d, dh);
    kernels::normalise<T>(queue_, weights.norm2, inner, normed);
    kernels::residual_mlp_forward<T>(queue_, weights.ff.view(), normed, saved, false, dnormed);
    const std::array ff = {gradients.linear(name + "ff.0"), gradients.linear(name + "ff.2")};
    const Tile<T> heads = scratch(s.heads, config_.num_heads * d, dh);
    const Tile<const T> dff =
        dropped(mlp_site(config_, l), tokens, dh, kernels::channels(heads, 0, d));
    kernels::residual_mlp_backward<T>(queue_, weights.ff.view(), normed, saved, dff, ff, hidden,
                                      false, dnormed);
    kernels::normalise_backward<T>(queue_, weights.norm2, inner, dnormed, dh, dh,
                                   gradients.layer_norm(name + "norm2"));
    store<T>(dh, tokens, dh_of);
    for (int64_t h = 0; h < config_.num_heads; ++h)
        kernels::hept::combine_tables<T>(queue_, shape(), kept(h, tokens.begin), 0, 1,
                                         kernels::channels(heads, h * d, d));
    const Tile<const T> dattention = dropped(attention_site(config_, l), tokens, dh, inner);
    store<T>(dattention, tokens, own(now_->inner));
    kernels::linear_gradient<T>(queue_, heads, dattention,
                                gradients.linear(name + "attn.out_linear"));
}

/// Computes the gradients of the sums of head h, which the blocks read for each query, from the
/// gradient of the attention's result.
template <class T>
void LayerGradient<T>::give(const kernels::Linear<T>& out, int64_t h, const Tiles<T>& dattention) {
    for_tiles([&](int64_t tile, Scratch& s) {
        const Tile<T> of_result = dattention.tile(tile);
        const Tile<T> given = scratch(s.normed, config_.h_dim, of_result);
        const Tile<T> dgiven = scratch(s.dnormed, config_.h_dim, of_result);
        const int64_t first = tile * dattention.n_column;
        kernels::hept::combine_tables<T>(queue_, shape(), kept(h, first), 0, 1, given);
        kernels::linear_backward<T>(queue_, out, of_result, {}, false, dgiven);
        kernels::hept::combine_tables_backward<T>(queue_, shape(), kept(h, first), 0, 1, given,
                                                  dgiven, given_.data() + first * shape().n_sum());
    });
}

/// Adds a block's gradients of its queries and of its keys.
template <class T>
void LayerGradient<T>::block_backward(int64_t table, const Block<T>& block, Scratch& scratch) {
    const int64_t n_sum = shape().n_sum(), n_query = shape().n_query();
    T* given = scratch.given.data();
    for (const int32_t token : block.queries)
        given = std::copy_n(given_.data() + token * n_sum, n_sum, given);
    kernels::hept::attend_block_backward<T>(queue_, shape(), block, scratch.given.data(),
                                            scratch.attend.data(), scratch.dqueries.data(),
                                            scratch.dkeys.data());
    const auto add = [&](const T* from, std::span<const int32_t> members, int64_t n, int64_t at) {
        for (const int32_t token : members) {
            T* const to = dtokens_.data() + dtokens_.row(table, token) * n_token_gradient() + at;
            for (int64_t e = 0; e < n; ++e) to[e] += *from++;
        }
    };
    add(scratch.dqueries.data(), block.queries, n_query, 0);
    add(scratch.dkeys.data(), block.keys, n_query + config_.h_dim, n_query);
}

/// Differentiates all blocks. In a table each token occurs once among the queries and once among
/// the keys, so that blocks of a table write different numbers.
template <class T>
void LayerGradient<T>::blocks_backward(int64_t h) {
    dtokens_.begin(h);
    dtokens_.fill(0, queue_);
    for (int64_t table = 0; table < config_.n_hashes; ++table) {
        queue_.parallel_for(attention_.n_block(), [&](int64_t i, int thread) {
            block_backward(table, attention_.block(table, i),
                           scratch_[static_cast<size_t>(thread)]);
        });
    }
}

/// Adds up the gradients of the rows of own tokens; queries and keys share their coordinates.
template <class T>
void LayerGradient<T>::join_rows(Range tokens, T* rows) const {
    const int64_t n_query = shape().n_query(), n_key = n_query + config_.h_dim;
    for (int64_t i = 0; i < tokens.size(); ++i) {
        const T* const query = dtokens_.data() + (tokens.begin + i) * n_token_gradient();
        T* const shared = std::copy_n(query, config_.h_dim, rows + i * shape().stride());
        std::copy_n(query + n_query, n_key, shared);
        for (int64_t r = 0; r < config_.coords_dim; ++r) shared[r] += query[config_.h_dim + r];
    }
}

/// Computes du and dx from the gradients of the rows of head h, and adds the gradients of the
/// weights that form the rows.
template <class T>
void LayerGradient<T>::augment_backward(const Head<T>& head, int64_t l, int64_t h, Range tokens,
                                        const Tiles<const T>& x, const Gradients& gradients,
                                        const Tiles<T>& dx_of, Scratch& s) {
    const WeightName name = layer_name(l);
    const bool is_wanted = !gradients.is_empty();
    std::ranges::fill(s.dqkv, 0.0);
    std::ranges::fill(s.dscale, 0.0);
    const Tile<T> du = load<T>(own(du_), tokens, s.dh), dx = load<T>(dx_of, tokens, s.dx);
    join_rows(tokens, s.drows.data());
    kernels::hept::augment_backward<T>(
        queue_, head, load<T>(u(), tokens, s.h), load<T>(x, tokens, s.x), s.drows.data(),
        s.augment.data(), du, dx, {is_wanted ? s.dqkv.data() : nullptr, nullptr}, s.dscale.data());
    store<T>(du, tokens, own(du_));
    store<T>(dx, tokens, dx_of);
    if (!is_wanted) return;
    const int64_t n = config_.h_dim * config_.h_dim;
    const double* from = s.dqkv.data();
    for (const char* projection : {"w_q.weight", "w_k.weight", "w_v.weight"}) {
        double* const to = gradients.at(name + projection) + h * n;
        for (int64_t i = 0; i < n; ++i) to[i] += *from++;
    }
    add_scale_gradient(config_, h, w_rpe_[static_cast<size_t>(l)], head.scale, s.dscale.data(),
                       gradients.at(name + "w_rpe.weight"));
}

template <class T>
void LayerGradient<T>::run(int64_t l, Communicator& comm, const Tiles<const T>& h,
                           const Tiles<const T>& x, GradientSums& sums, const Tiles<T>& dh,
                           const Tiles<T>& dx) {
    const LayerWeights<T>& weights = layers_.layers[static_cast<size_t>(l)];
    const MasterWeights& master = layers_.weights.master();
    const WeightName name = layer_name(l);
    const auto run_chunks = [&](std::initializer_list<Range> ranges, const auto& body) {
        chunks_->run(queue_, master, sums, ranges,
                     [&](Range tokens, int thread, const Gradients& gradients) {
                         body(tokens, gradients, scratch_[static_cast<size_t>(thread)]);
                     });
    };
    const auto range = [&](const char* first, const char* last) {
        return range_of(master, name + first, name + last);
    };
    now_ = &values_[saves_less_ ? 0 : static_cast<size_t>(l)];
    attend(l, comm, h, x);
    run_chunks({range("attn.out_linear.weight", "attn.out_linear.bias"),
                range("norm2.weight", "ff.2.bias")},
               [&](Range tokens, const Gradients& gradients, Scratch& s) {
                   finish_backward(l, tokens, gradients, dh, s);
               });
    std::ranges::fill(du_, T(0));
    for (int64_t head = 0; head < config_.num_heads; ++head) {
        const HeadWeights<T>& of_head = weights.heads[static_cast<size_t>(head)];
        give(of_head.out, head, own(now_->inner));
        gradient_exchange_.visit(comm, queue_,
                                 {given_.data(), shape().n_sum(), plan_->n_token(), 1, 1});
        attention_.augment(of_head.head, u(), x);
        attention_.order(l, head);
        blocks_backward(head);
        gradient_exchange_.return_sums(comm, queue_, head, dtokens_);
        run_chunks({range("w_q.weight", "w_v.weight"), range("w_rpe.weight", "w_rpe.weight")},
                   [&](Range tokens, const Gradients& gradients, Scratch& s) {
                       augment_backward(of_head.head, l, head, tokens, x, gradients, dx, s);
                   });
    }
    run_chunks({range("norm1.weight", "norm1.bias")},
               [&](Range tokens, const Gradients& gradients, Scratch& s) {
                   const Tile<T> of_h = load<T>(dh, tokens, s.dh);
                   kernels::normalise_backward<T>(queue_, weights.norm1, load<T>(h, tokens, s.h),
                                                  load<T>(own(du_), tokens, s.normed), of_h, of_h,
                                                  gradients.layer_norm(name + "norm1"));
                   store<T>(of_h, tokens, dh);
               });
}

template <class T>
int64_t LayerGradient<T>::bytes_sent() const {
    return exchange_.bytes_of_layer(config_.h_dim, saves_less_) +
           gradient_exchange_.bytes_of_layer(config_.num_heads * shape().n_sum());
}

template <class T>
int64_t LayerGradient<T>::messages() const {
    return exchange_.messages_of_layer(1, saves_less_) +
           gradient_exchange_.messages_of_layer(config_.num_heads);
}

template <class T>
int64_t LayerGradient<T>::bytes() const {
    int64_t n_byte =
        attention_.bytes() + exchange_.bytes() + gradient_exchange_.bytes() + dtokens_.bytes();
    for (const Buffer<T>* buffer : {&u_, &du_, &given_}) n_byte += buffer->bytes();
    for (const LayerValues<T>& values : values_) n_byte += values.bytes();
    for (const Scratch& s : scratch_) {
        n_byte += s.dqkv.bytes() + s.dscale.bytes();
        for (const Buffer<T>* buffer :
             {&s.attend, &s.given, &s.dqueries, &s.dkeys, &s.h, &s.dh, &s.inner, &s.normed,
              &s.dnormed, &s.saved, &s.hidden, &s.heads, &s.x, &s.dx, &s.drows, &s.augment})
            n_byte += buffer->bytes();
    }
    return n_byte;
}

template class LayerGradient<float>;
template class LayerGradient<double>;

}  // namespace surrogate::impl::hept
