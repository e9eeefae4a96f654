// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/gradient.hpp"

#include <algorithm>
#include <array>

#include "libsurrogate/src/model/hept/copies.hpp"
#include "libsurrogate/src/model/hept/sites.hpp"

namespace surrogate::impl::hept {

using kernels::Buffer;
using kernels::Tile;
using kernels::Tiles;

template <class T>
NetworkGradient<T>::NetworkGradient(const Config& config, const Layers<T>& layers,
                                    const kernels::Queue& queue)
    : config_(config),
      layers_(layers),
      queue_(queue),
      self_(self_communicator()),
      forward_(config, layers, queue),
      layer_(config, layers, queue, dropout_),
      readout_(config, layers, queue),
      states_data_(static_cast<size_t>(config.n_layers + 1)),
      states_(states_data_.size()) {}

template <class T>
void NetworkGradient<T>::resize(const TokenPlan& plan) {
    plan_ = &plan;
    forward_.resize(*self_, plan);
    layer_.resize(plan);
    const int64_t d = config_.h_dim, m = config_.n_embedding(), row = kernels::tile_points;
    const int64_t n = kernels::round_up(plan.n_own(), row);
    for (size_t l = 0; l < states_.size(); ++l) {
        states_data_[l].resize(d * n);
        states_[l] = tokens(states_data_[l], d);
    }
    forward_.keep(states_);
    forward_.set_dropout(&dropout_);
    dh_.resize(d * n);
    de_.resize(m * n);
    dcoordinates_.resize(config_.coords_dim * n);
    e_.resize(m * row);
    all_states_.resize(std::ssize(states_) * d * row);
    work_.resize(readout_.n_backward_scratch());
    for (Buffer<T>* buffer : {&saved_, &hidden_}) buffer->resize(2 * d * row);
    for (Buffer<T>* buffer : {&features_, &dfeatures_}) buffer->resize(config_.n_feature() * row);
}

template <class T>
void NetworkGradient<T>::set_coordinates(const Tiles<const T>& coordinates) {
    forward_.set_coordinates(*self_, coordinates);
}

template <class T>
bool NetworkGradient<T>::forward(const Tiles<const T>& x, const Tiles<T>& y) {
    return forward_.run(*self_, x, y);
}

/// Returns the columns of W for the states before layer l, or after the last layer.
template <class T>
const kernels::Linear<T>& NetworkGradient<T>::states_layer(int64_t l) const {
    return l == 0 ? layers_.states : layers_.layers[static_cast<size_t>(l - 1)].states;
}

/// Computes de of a tile from dy. de is 0 for copies, because their predictions are not used.
template <class T>
void NetworkGradient<T>::read_backward(int64_t tile, const Tiles<const T>& dy,
                                       const Gradients& gradients) {
    const int64_t d = config_.h_dim, n_point = plan_->n_point() - tile * kernels::tile_points;
    const Tile<T> de = tokens(de_, config_.n_embedding()).tile(tile);
    const Tile<T> e = scratch(e_, config_.n_embedding(), de);
    const Tile<T> all = scratch(all_states_, std::ssize(states_) * d, de);
    for (int64_t l = 0; l <= config_.n_layers; ++l) {
        const Tile<const T> h = states(l).tile(tile);
        kernels::linear<T>(queue_, states_layer(l), h, l == 0 ? Tile<const T>{} : e, e);
        std::copy_n(h.data, d * h.stride[0], kernels::channels(all, l * d, d).data);
    }
    const int64_t n_read = std::clamp(n_point, int64_t{0}, de.shape[1]);
    if (n_read > 0)
        readout_.backward(kernels::points(e, 0, n_read), dy.tile(tile), gradients, work_.data(),
                          kernels::points(de, 0, n_read), &dropout_, rows_of(*plan_, tile));
    for (int64_t c = 0; c < de.shape[0]; ++c)
        std::fill(&de(c, n_read), &de(c, 0) + de.stride[0], T(0));
    kernels::linear_gradient<T>(queue_, all, de, {gradients.at("W.weight"), nullptr});
}

/// Computes the gradient dh of the states before layer l from de.
template <class T>
void NetworkGradient<T>::states_backward(int64_t l, bool accumulate) {
    const Tiles<T> dh = tokens(dh_, config_.h_dim), de = tokens(de_, config_.n_embedding());
    for (int64_t tile = 0; tile < dh.n_tile(); ++tile)
        kernels::linear_backward<T>(queue_, states_layer(l), de.tile(tile), {}, accumulate,
                                    dh.tile(tile));
}

template <class T>
void NetworkGradient<T>::encode_backward(int64_t tile, const Tiles<const T>& x,
                                         const Gradients& gradients, const Tiles<T>& dx) {
    const Tile<T> dh = tokens(dh_, config_.h_dim).tile(tile);
    const Tile<T> features = scratch(features_, config_.n_feature(), dh);
    const Tile<T> dfeatures = scratch(dfeatures_, config_.n_feature(), dh);
    const Tile<T> saved = scratch(saved_, 2 * config_.h_dim, dh);
    const Tile<T> hidden = scratch(hidden_, 2 * config_.h_dim, dh);
    copy_tokens<T>(*plan_, x, tile, features);
    // The forward pass of the encoder is recomputed; its result is not used.
    kernels::residual_mlp_forward<T>(queue_, layers_.encoder.view(), features, saved, false,
                                     kernels::channels(hidden, 0, config_.h_dim));
    const std::array encoder = {gradients.linear("feat_encoder.0"),
                                gradients.linear("feat_encoder.2")};
    kernels::residual_mlp_backward<T>(queue_, layers_.encoder.view(), features, saved, dh, encoder,
                                      hidden, false, dx.data ? dfeatures : Tile<T>{});
    if (dx.data) join_copies<T>(*plan_, tile, dfeatures, dx);
}

template <class T>
void NetworkGradient<T>::backward(const Tiles<const T>& x, const Tiles<const T>& dy,
                                  const Gradients& gradients, const InputGradients<T>& inputs) {
    const Tiles<T> dh = tokens(dh_, config_.h_dim);
    const Tiles<T> dcoordinates = tokens(dcoordinates_, config_.coords_dim);
    for (int64_t tile = 0; tile < dh.n_tile(); ++tile) read_backward(tile, dy, gradients);
    std::ranges::fill(dcoordinates_, T(0));
    states_backward(config_.n_layers, false);
    for (int64_t l = config_.n_layers; l-- > 0;) {
        layer_.run(l, states(l), forward_.coordinates(), gradients, dh, dcoordinates);
        states_backward(l, true);
    }
    for (int64_t tile = 0; tile < dh.n_tile(); ++tile) {
        encode_backward(tile, x, gradients, inputs.x);
        if (inputs.coordinates.data)
            join_copies<T>(*plan_, tile, dcoordinates.tile(tile), inputs.coordinates);
    }
}

template <class T>
int64_t NetworkGradient<T>::bytes() const {
    int64_t n_byte = forward_.bytes() + layer_.bytes();
    for (const Buffer<T>& buffer : states_data_) n_byte += buffer.bytes();
    for (const Buffer<T>* buffer : {&dh_, &de_, &dcoordinates_, &e_, &all_states_, &work_, &saved_,
                                    &hidden_, &features_, &dfeatures_})
        n_byte += buffer->bytes();
    return n_byte;
}

template class NetworkGradient<float>;
template class NetworkGradient<double>;

}  // namespace surrogate::impl::hept
