// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/forward.hpp"

#include <algorithm>
#include <limits>

#include "libsurrogate/src/model/hept/copies.hpp"
#include "libsurrogate/src/model/hept/sites.hpp"

namespace surrogate::impl::hept {

using kernels::Buffer;
using kernels::Tile;
using kernels::Tiles;

template <class T>
Forward<T>::Forward(const Config& config, const Layers<T>& layers, const kernels::Queue& queue)
    : config_(config),
      layers_(layers),
      queue_(queue),
      attention_(config, queue),
      readout_(config, layers, queue),
      scratch_(static_cast<size_t>(queue.n_thread())) {}

/// Resizes `buffer` to tiles of n_point points, filled with zeros.
template <class T>
Tiles<T> Forward<T>::tiles(Buffer<T>& buffer, int64_t n_channel, int64_t n_point) {
    buffer.resize(n_channel * kernels::round_up(n_point, kernels::tile_points));
    std::fill(buffer.begin(), buffer.end(), T(0));
    return {buffer.data(), n_channel, n_point};
}

template <class T>
void Forward<T>::resize(Communicator& comm, const TokenPlan& plan) {
    plan_ = &plan;
    x_ = tiles(x_data_, config_.coords_dim, plan.n_token());
    u_ = tiles(u_data_, config_.h_dim, plan.n_token());
    h_ = tiles(h_data_, config_.h_dim, plan.n_own());
    e_ = tiles(e_data_, config_.n_embedding(), plan.n_own());
    attention_.resize(plan);
    exchange_.resize(comm, plan, std::max(config_.h_dim, config_.coords_dim),
                     attention_.shape().n_sum());
    for (Scratch& scratch : scratch_) {
        scratch.features.resize(config_.n_feature() * kernels::tile_points);
        scratch.normed.resize(config_.h_dim * kernels::tile_points);
        scratch.hidden.resize(3 * config_.h_dim * kernels::tile_points);
        scratch.readout.resize(readout_.n_scratch());
    }
}

template <class T>
void Forward<T>::set_coordinates(Communicator& comm, const Tiles<const T>& coordinates) {
    for (int64_t tile = 0; tile * x_.n_column < plan_->n_own(); ++tile)
        copy_tokens<T>(*plan_, coordinates, tile * x_.n_column, own(x_, tile));
    exchange_.visit(comm, queue_, x_);
}

template <class T>
template <class Body>
void Forward<T>::for_tiles(int64_t n_point, const Body& body) {
    if (!is_finite_) return;
    const int64_t n_tile = (n_point + kernels::tile_points - 1) / kernels::tile_points;
    queue_.parallel_for(n_tile, [&](int64_t tile, int thread) {
        body(tile, scratch_[static_cast<size_t>(thread)]);
    });
}

/// Returns the own tokens of a tile, which ghost tokens may follow.
template <class T>
Tile<T> Forward<T>::own(const Tiles<T>& of, int64_t tile) const {
    Tile<T> some = of.tile(tile);
    some.shape[1] = std::min(some.shape[1], plan_->n_own() - tile * of.n_column);
    return some;
}

template <class T>
Tile<const T> Forward<T>::features(const Tiles<const T>& x, int64_t tile, Scratch& scratch) const {
    if ((tile + 1) * x.n_column <= x.n_point) return x.tile(tile);
    const Tile<T> copied{
        scratch.features.data(), {x.n_channel, h_.tile(tile).shape[1]}, {x.row, 1}};
    copy_tokens<T>(*plan_, x, tile * x.n_column, copied);
    return copied;
}

/// Processes h of a tile, state l of the network: the encoder's result (is_first) or the result of
/// layer l - 1. Adds its contribution to e, stores h for the backward pass, computes u of layer l.
template <class T>
void Forward<T>::leave(int64_t l, int64_t tile, const kernels::Linear<T>& states, bool is_first) {
    const Tile<T> h = h_.tile(tile), e = e_.tile(tile);
    kernels::linear<T>(queue_, states, h, is_first ? Tile<const T>{} : e, e);
    if (!kept_.empty()) {
        const Tile<T> kept = kept_[static_cast<size_t>(l)].tile(tile);
        std::copy_n(h.data, h.shape[0] * h.stride[0], kept.data);
    }
    if (l < config_.n_layers)
        kernels::normalise<T>(queue_, layers_.layers[static_cast<size_t>(l)].norm1, h,
                              own(u_, tile));
}

template <class T>
void Forward<T>::encode(const Tiles<const T>& x) {
    for_tiles(plan_->n_own(), [&](int64_t tile, Scratch& scratch) {
        const Tile<T> h = h_.tile(tile);
        const Tile<T> hidden{scratch.hidden.data(), {2 * config_.h_dim, h.shape[1]}, h.stride};
        kernels::residual_mlp<T>(queue_, layers_.encoder.view(), features(x, tile, scratch), hidden,
                                 false, h);
        leave(0, tile, layers_.states, true);
    });
}

template <class T>
void Forward<T>::attend_head(Communicator& comm, int64_t l, int64_t h) {
    const auto& weights = layers_.layers[static_cast<size_t>(l)].heads[static_cast<size_t>(h)];
    const kernels::hept::RowShape& shape = attention_.shape();
    HeadSums<T>& sums = attention_.sums();
    sums.begin(h);
    if (is_finite_) is_finite_ = attention_.augment(weights.head, u_, x_);
    if (is_finite_) {
        attention_.order(l, h);
        attention_.attend();
    } else {
        sums.fill(std::numeric_limits<T>::quiet_NaN());
    }
    exchange_.return_sums(comm, queue_, h, sums);
    for_tiles(plan_->n_own(), [&](int64_t tile, Scratch& scratch) {
        const Tile<T> to = h_.tile(tile);
        const Tile<T> attention{scratch.normed.data(), to.shape, to.stride};
        const int64_t first = tile * h_.n_column * shape.n_sum();
        const T* const from = sums.data() + first;
        if (!values_.empty()) {
            T* const of_head =
                values_[static_cast<size_t>(l)].sums.data() + h * plan_->n_own() * shape.n_sum();
            std::copy_n(from, to.shape[1] * shape.n_sum(), of_head + first);
        }
        kernels::hept::combine_tables<T>(queue_, shape, from, 0, 1, attention);
        // With dropout, h first receives the branch alone; kept_ has the stream before it.
        const bool is_alone = h == 0 && drops();
        kernels::linear<T>(queue_, weights.out, attention, is_alone ? Tile<const T>{} : to, to);
    });
}

/// Computes the attention of layer l. A rank with non-finite values takes part in all exchanges and
/// sends NaN.
template <class T>
void Forward<T>::attend(Communicator& comm, int64_t l) {
    if (!is_finite_) std::ranges::fill(u_data_, std::numeric_limits<T>::quiet_NaN());
    exchange_.visit(comm, queue_, u_);
    for (int64_t h = 0; h < config_.num_heads; ++h) attend_head(comm, l, h);
    if (drops()) drop_attention(l);
}

/// Computes h before the MLP of layer l from the branch in h.
template <class T>
void Forward<T>::drop_attention(int64_t l) {
    for_tiles(plan_->n_own(), [&](int64_t tile, Scratch&) {
        const Tile<T> h = h_.tile(tile), before = kept_[static_cast<size_t>(l)].tile(tile);
        dropout_->apply<T>(attention_site(config_, l), rows_of(*plan_, tile), h);
        add<T>(before, h);
    });
}

template <class T>
void Forward<T>::finish_layer(int64_t l) {
    const LayerWeights<T>& weights = layers_.layers[static_cast<size_t>(l)];
    for_tiles(plan_->n_own(), [&](int64_t tile, Scratch& scratch) {
        const Tile<T> h = h_.tile(tile);
        const Tile<T> normed{scratch.normed.data(), h.shape, h.stride};
        const Tile<T> hidden{scratch.hidden.data(), {2 * config_.h_dim, h.shape[1]}, h.stride};
        if (!values_.empty()) {
            const int64_t size = h.shape[0] * h.stride[0];
            std::copy_n(h.data, size, values_[static_cast<size_t>(l)].inner.data() + tile * size);
        }
        kernels::normalise<T>(queue_, weights.norm2, h, normed);
        const Tile<T> branch{&hidden(2 * config_.h_dim, 0), h.shape, h.stride};
        kernels::residual_mlp<T>(queue_, weights.ff.view(), normed, hidden, !drops(),
                                 drops() ? branch : h);
        if (drops())
            dropout_->apply<T>(mlp_site(config_, l), rows_of(*plan_, tile), branch, true, h);
        leave(l + 1, tile, weights.states, false);
    });
}

template <class T>
void Forward<T>::read(const Tiles<T>& y) {
    for_tiles(y.n_point, [&](int64_t tile, Scratch& scratch) {
        const Tile<T> to = y.tile(tile);
        Tile<T> e = e_.tile(tile);
        e.shape[1] = to.shape[1];
        readout_.run(e, scratch.readout.data(), to, dropout_, rows_of(*plan_, tile));
    });
    if (is_finite_) return;
    // A rank with non-finite values predicts NaN.
    std::fill_n(y.data, y.n_tile() * y.n_channel * y.row, std::numeric_limits<T>::quiet_NaN());
    std::ranges::fill(u_data_, T(0));
}

template <class T>
bool Forward<T>::run(Communicator& comm, const Tiles<const T>& x, const Tiles<T>& y) {
    is_finite_ = true;
    encode(x);
    for (int64_t l = 0; l < config_.n_layers; ++l) {
        attend(comm, l);
        finish_layer(l);
    }
    read(y);
    return is_finite_;
}

template <class T>
int64_t Forward<T>::bytes() const {
    int64_t n_byte = exchange_.bytes() + attention_.bytes();
    for (const Buffer<T>* buffer : {&x_data_, &u_data_, &h_data_, &e_data_})
        n_byte += buffer->bytes();
    for (const Scratch& s : scratch_)
        n_byte += s.features.bytes() + s.normed.bytes() + s.hidden.bytes() + s.readout.bytes();
    return n_byte;
}

template class Forward<float>;
template class Forward<double>;

}  // namespace surrogate::impl::hept
