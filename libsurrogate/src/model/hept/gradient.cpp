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
                                    const kernels::Queue& queue, bool saves_less)
    : config_(config),
      layers_(layers),
      queue_(queue),
      forward_(config, layers, queue),
      layer_(config, layers, queue, dropout_, saves_less),
      readout_(config, layers, queue),
      states_data_(static_cast<size_t>(config.n_layers + 1)),
      states_(states_data_.size()),
      scratch_(static_cast<size_t>(queue.n_thread())) {}

template <class T>
void NetworkGradient<T>::resize(Communicator& comm, const TokenPlan& plan) {
    plan_ = &plan;
    chunks_.resize(plan);
    forward_.resize(comm, plan);
    layer_.resize(comm, plan, chunks_);
    const int64_t d = config_.h_dim, m = config_.n_embedding(), row = kernels::tile_points;
    const int64_t n = kernels::round_up(plan.n_own(), row);
    for (size_t l = 0; l < states_.size(); ++l) {
        states_data_[l].resize(d * n);
        states_[l] = tokens(states_data_[l], d);
    }
    forward_.keep(states_, layer_.values());
    forward_.set_dropout(&dropout_);
    dh_.resize(d * n);
    de_.resize(m * n);
    dcoordinates_.resize(config_.coords_dim * n);
    for (Scratch& s : scratch_) {
        for (Buffer<T>* buffer : {&s.h, &s.dh}) buffer->resize(d * row);
        for (Buffer<T>* buffer : {&s.e, &s.de}) buffer->resize(m * row);
        s.dy.resize(config_.n_out() * row);
        s.all_states.resize(std::ssize(states_) * d * row);
        s.work.resize(readout_.n_backward_scratch());
        for (Buffer<T>* buffer : {&s.saved, &s.hidden}) buffer->resize(2 * d * row);
        for (Buffer<T>* buffer : {&s.features, &s.dfeatures})
            buffer->resize(config_.n_feature() * row);
        s.dcoordinates.resize(config_.coords_dim * row);
    }
}

template <class T>
void NetworkGradient<T>::set_coordinates(Communicator& comm, const Tiles<const T>& coordinates) {
    forward_.set_coordinates(comm, coordinates);
}

template <class T>
bool NetworkGradient<T>::forward(Communicator& comm, const Tiles<const T>& x, const Tiles<T>& y) {
    return forward_.run(comm, x, y);
}

/// Returns the columns of W for the states before layer l, or after the last layer.
template <class T>
const kernels::Linear<T>& NetworkGradient<T>::states_layer(int64_t l) const {
    return l == 0 ? layers_.states : layers_.layers[static_cast<size_t>(l - 1)].states;
}

/// Computes de of some points from dy. de is 0 for copies, because their predictions are not used.
template <class T>
void NetworkGradient<T>::read_backward(Range points, const Tiles<const T>& dy_of,
                                       const Gradients& gradients, Scratch& s) {
    if (points.begin >= plan_->n_point()) return;
    const int64_t d = config_.h_dim;
    const Tile<T> dy = load<T>(dy_of, points, s.dy);
    const Tile<T> e = scratch(s.e, config_.n_embedding(), dy);
    const Tile<T> de = scratch(s.de, config_.n_embedding(), dy);
    const Tile<T> all = scratch(s.all_states, std::ssize(states_) * d, dy);
    for (int64_t l = 0; l <= config_.n_layers; ++l) {
        const Tile<T> h = load<T>(states(l), points, s.h);
        kernels::linear<T>(queue_, states_layer(l), h, l == 0 ? Tile<const T>{} : e, e);
        std::copy_n(h.data, d * h.stride[0], kernels::channels(all, l * d, d).data);
    }
    readout_.backward(e, dy, gradients, s.work.data(), de, &dropout_,
                      rows_from(*plan_, points.begin));
    store<T>(de, points, tokens(de_, config_.n_embedding()));
    kernels::linear_gradient<T>(queue_, all, de, {gradients.at("W.weight"), nullptr});
}

/// Computes the gradient dh of the states before layer l from de.
template <class T>
void NetworkGradient<T>::states_backward(int64_t l, bool accumulate) {
    const Tiles<T> dh = tokens(dh_, config_.h_dim), de = tokens(de_, config_.n_embedding());
    queue_.parallel_for(dh.n_tile(), [&](int64_t tile, int) {
        kernels::linear_backward<T>(queue_, states_layer(l), de.tile(tile), {}, accumulate,
                                    dh.tile(tile));
    });
}

template <class T>
void NetworkGradient<T>::encode_backward(Range some, const Tiles<const T>& x,
                                         const Gradients& gradients,
                                         const InputGradients<T>& inputs, Scratch& s) {
    const Tile<T> dh = load<T>(tokens(dh_, config_.h_dim), some, s.dh);
    const Tile<T> features = scratch(s.features, config_.n_feature(), dh);
    const Tile<T> dfeatures = scratch(s.dfeatures, config_.n_feature(), dh);
    const Tile<T> saved = scratch(s.saved, 2 * config_.h_dim, dh);
    const Tile<T> hidden = scratch(s.hidden, 2 * config_.h_dim, dh);
    copy_tokens<T>(*plan_, x, some.begin, features);
    // The forward pass of the encoder is recomputed; its result is not used.
    kernels::residual_mlp_forward<T>(queue_, layers_.encoder.view(), features, saved, false,
                                     kernels::channels(hidden, 0, config_.h_dim));
    const std::array encoder = {gradients.linear("feat_encoder.0"),
                                gradients.linear("feat_encoder.2")};
    kernels::residual_mlp_backward<T>(queue_, layers_.encoder.view(), features, saved, dh, encoder,
                                      hidden, false, inputs.x.data ? dfeatures : Tile<T>{});
    if (inputs.x.data) join_copies<T>(*plan_, some.begin, dfeatures, inputs.x);
    if (!inputs.coordinates.data) return;
    join_copies<T>(*plan_, some.begin,
                   load<T>(tokens(dcoordinates_, config_.coords_dim), some, s.dcoordinates),
                   inputs.coordinates);
}

template <class T>
void NetworkGradient<T>::backward(Communicator& comm, const Tiles<const T>& x,
                                  const Tiles<const T>& dy, GradientSums& sums,
                                  const InputGradients<T>& inputs) {
    const MasterWeights& master = layers_.weights.master();
    const char* const last = config_.num_classes > 0 ? "out_proj.bias" : "mlp_out.norms.3.bias";
    std::ranges::fill(de_, T(0));
    std::ranges::fill(dcoordinates_, T(0));
    chunks_.run(queue_, master, sums, {range_of(master, "W.weight", last)},
                [&](Range some, int thread, const Gradients& gradients) {
                    read_backward(some, dy, gradients, scratch_[static_cast<size_t>(thread)]);
                });
    states_backward(config_.n_layers, false);
    for (int64_t l = config_.n_layers; l-- > 0;) {
        layer_.run(l, comm, states(l), forward_.coordinates(), sums, tokens(dh_, config_.h_dim),
                   tokens(dcoordinates_, config_.coords_dim));
        states_backward(l, true);
    }
    chunks_.run(
        queue_, master, sums, {range_of(master, "feat_encoder.0.weight", "feat_encoder.2.bias")},
        [&](Range some, int thread, const Gradients& gradients) {
            encode_backward(some, x, gradients, inputs, scratch_[static_cast<size_t>(thread)]);
        });
}

template <class T>
int64_t NetworkGradient<T>::bytes() const {
    int64_t n_byte =
        forward_.bytes() + layer_.bytes() + dh_.bytes() + de_.bytes() + dcoordinates_.bytes();
    for (const Buffer<T>& buffer : states_data_) n_byte += buffer.bytes();
    for (const Scratch& s : scratch_) {
        for (const Buffer<T>* buffer :
             {&s.h, &s.dh, &s.e, &s.de, &s.dy, &s.all_states, &s.work, &s.saved, &s.hidden,
              &s.features, &s.dfeatures, &s.dcoordinates})
            n_byte += buffer->bytes();
    }
    return n_byte;
}

template class NetworkGradient<float>;
template class NetworkGradient<double>;

}  // namespace surrogate::impl::hept
