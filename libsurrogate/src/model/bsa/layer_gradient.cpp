// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/layer_gradient.hpp"

#include <algorithm>

namespace surrogate::impl::bsa {

using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;
using kernels::bsa::KeyBlock;

template <class T>
LayerGradient<T>::LayerGradient(const Config& config, const Layers<T>& layers,
                                const kernels::Queue& queue, Communicator& comm,
                                Forward<T>& forward, bool is_reproducible)
    : config_(config),
      layers_(layers),
      queue_(queue),
      forward_(forward),
      is_reproducible_(is_reproducible),
      shape_(forward.work().shape()),
      visits_(comm) {
    for (int64_t layer = 0; layer < config.depth; ++layer)
        names_.emplace_back(layer_name(config, layer));
    allocate();
    plan_visits();
    forward_.keep(out_);
}

template <class T>
Tiles<T> LayerGradient<T>::field(int64_t n_channel) {
    memory_.emplace_back(shape_.size(n_channel));
    return shape_.tiles(memory_.back().data(), n_channel);
}

template <class T>
Tiles<T> LayerGradient<T>::group_field(int64_t n_channel) {
    const int64_t n = shape_.n_local() / config_.group_size;
    const int64_t n_tile = (n + tile_points - 1) / tile_points;
    memory_.emplace_back(n_tile * n_channel * tile_points);
    return {memory_.back().data(), n_channel, n};
}

template <class T>
void LayerGradient<T>::allocate() {
    const int64_t c = config_.n_channel, h = config_.n_head, e = config_.n_coarse_hidden;
    for (Tiles<T>* f : {&dq_, &dk_, &dv_}) *f = field(c);
    for (Tiles<T>* f : {&out_.log_ball, &delta_ball_}) *f = field(h);
    Workspace<T>& work = forward_.work();
    q_ = config_.has_balls() ? work.q() : field(c);
    k_ = config_.has_balls() ? work.k() : field(c);
    v_ = config_.has_balls() ? work.v() : field(c);
    if (config_.is_sparse()) {
        for (Tiles<T>* f : {&out_.ball, &out_.compressed, &out_.selected}) *f = field(c);
        for (Tiles<T>* f :
             {&out_.log_compressed, &out_.log_selected, &delta_compressed_, &delta_selected_}) {
            *f = field(h);
        }
        dgate_ = field(3 * h);
        const int64_t n_block = shape_.n_local() / config_.block_size;
        memory_.emplace_back((n_block + tile_points - 1) / tile_points * 2 * c * tile_points);
        dcoarse_ = {memory_.back().data(), 2 * c, n_block};
    }
    if (config_.is_sparse() && config_.compresses_groups) {
        groups_ = {group_field(c), group_field(c), group_field(h), group_field(h), group_field(c)};
        out_.group_queries = groups_.q;
        out_.group_averages = groups_.dy;
        out_.log_groups = groups_.log_sum;
    }
    const int64_t n = shape_.row(), k = forward_.n_choice();
    const int64_t folded = config_.block_size * config_.head_dim() * tile_points;
    const kernels::Heads heads = config_.heads();
    for (int thread = 0; thread < queue_.n_thread(); ++thread) {
        Scratch s;
        for (Buffer<T>* buffer : {&s.a, &s.b, &s.c, &s.branch[0], &s.branch[1], &s.branch[2]})
            *buffer = Buffer<T>(c * std::max(n, tile_points));
        s.saved = Buffer<T>(2 * config_.n_hidden * n);
        s.hidden = Buffer<T>(3 * config_.n_hidden * n);
        s.gate = Buffer<T>(3 * h * n);
        s.dgate = Buffer<T>(3 * h * n);
        for (Buffer<T>* buffer : {&s.distance, &s.slope})
            *buffer = Buffer<T>(std::max(n, tile_points) * tile_points);
        s.attend = Buffer<T>(std::max(
            kernels::attend_scratch(heads),
            config_.is_sparse() ? kernels::bsa::attend_blocks_scratch(heads, config_.block_size, k)
                                : 0));
        if (config_.is_sparse()) {
            s.folded = Buffer<T>(folded);
            s.dfolded = Buffer<T>(folded);
            s.coarse = Buffer<T>(2 * e * tile_points);
            s.dcoarse = Buffer<T>(2 * e * tile_points);
            s.blocks = Buffer<T>(2 * c * tile_points);
            s.keys = Buffer<KeyBlock<const T>>(tile_points * h * k);
            s.dkeys = Buffer<KeyBlock<T>>(tile_points * h * k);
        }
        scratch_.push_back(std::move(s));
        sums_.emplace_back(config_);
    }
}

template <class T>
void LayerGradient<T>::plan_visits() {
    visits_.resize(forward_.plan().begins());
    if (!config_.is_sparse() && config_.has_balls()) return;
    const int64_t c = config_.n_channel, piece = shape_.piece();
    const int64_t n_row = 2 * (c + config_.n_head);
    queries_ = {.slots = piece, .n = piece, .n_row = n_row};
    keys_ = {.slots = piece, .n = piece, .n_row = 2 * c};
    if (config_.is_sparse()) {
        const int64_t g = config_.group_size;
        if (config_.compresses_groups) {
            queries_.n = std::clamp<int64_t>(shape_.ball / g, 1, tile_points);
            queries_.slots = queries_.n * g;
        }
        selecting_ = {
            .slots = piece,
            .n = piece,
            .n_row = n_row,
            .n_choice = std::max<int64_t>(1, piece / g) * config_.n_head * forward_.n_choice()};
        visits_.reserve(selecting_.slots, selecting_.bytes());
    } else {
        visits_.reserve(keys_.slots, keys_.bytes());
    }
    visits_.reserve(queries_.slots, queries_.bytes());
}

template <class T>
int64_t LayerGradient<T>::bytes_sent() const {
    if (!config_.is_sparse() && config_.has_balls()) return 0;
    const Visitor& other = config_.is_sparse() ? selecting_ : keys_;
    return visits_.bytes_sent(queries_.slots, queries_.bytes()) +
           visits_.bytes_sent(other.slots, other.bytes());
}

template <class T>
int64_t LayerGradient<T>::collectives() const {
    if (!config_.is_sparse() && config_.has_balls()) return 0;
    const Visitor& other = config_.is_sparse() ? selecting_ : keys_;
    return visits_.collectives(queries_.slots, queries_.bytes()) +
           visits_.collectives(other.slots, other.bytes());
}

template <class T>
bool LayerGradient<T>::run(int64_t layer, Tiles<const T> x, Tiles<T> dx, GradientSums& sums,
                           Tiles<T> drelative) {
    target_ = &sums;
    layer_ = layer;
    drelative_ = drelative;
    const LayerWeights<T>& w = layers_.layers[static_cast<size_t>(layer)];
    const bool rotated = config_.is_layer_rotated(layer);
    std::copy_n(x.data, shape_.size(config_.n_channel), forward_.work().x().data);
    forward_.start(w, rotated);
    if (!config_.has_balls()) {
        const int64_t size = shape_.size(config_.n_channel);
        std::copy_n(forward_.work().q().data, size, q_.data);
        std::copy_n(forward_.work().k().data, size, k_.data);
        std::copy_n(forward_.work().v().data, size, v_.data);
    }
    if (!forward_.attend(layer, w, rotated)) return false;
    for (LayerSums& of_thread : sums_) {
        of_thread.want(sums.is_wanted());
        of_thread.clear();
    }
    for (const Tiles<T>& f : {dq_, dk_, dv_}) fill_zero(f);
    const int64_t n_tile = shape_.n_tile(), in_ball = shape_.ball / shape_.n_column;
    for_items(n_tile, in_ball, LayerSums::finish,
              [&](int64_t tile, int thread) { finish_backward(w, x, dx, tile, thread); });
    attention_backward(w, rotated);
    for_items(n_tile, in_ball, LayerSums::start,
              [&](int64_t tile, int thread) { start_backward(w, rotated, x, dx, tile, thread); });
    if (is_reproducible_) return true;
    for (size_t thread = 1; thread < sums_.size(); ++thread) sums_[0].add(sums_[thread]);
    for (int part = 0; part < LayerSums::n_part; ++part) {
        sums_[0].move_to(target(0), names_[static_cast<size_t>(layer)],
                         static_cast<LayerSums::Part>(part));
    }
    return true;
}

/// Computes from dx, the gradient of the layer's result, the gradient of x plus attention, in dx,
/// and the gradient of the attention's result, in y.
template <class T>
void LayerGradient<T>::finish_backward(const LayerWeights<T>& w, Tiles<const T> x, Tiles<T> dx,
                                       int64_t tile, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    LayerSums& sums = sums_[static_cast<size_t>(thread)];
    const int64_t c = config_.n_channel, hidden = config_.n_hidden;
    const Tile<T> y = forward_.work().y().tile(tile), d = dx.tile(tile);
    const Tile<T> sum = scratch_tile(s.a, c, d), normed = scratch_tile(s.b, c, d);
    const Tile<T> given = scratch_tile(s.c, c, d);
    kernels::linear<T>(queue_, w.out, y, x.tile(tile), sum);
    kernels::normalise<T>(queue_, w.norm2, sum, normed);
    const Tile<T> saved = scratch_tile(s.saved, 2 * hidden, d);
    kernels::swiglu_forward<T>(queue_, w.mlp, normed, saved, scratch_tile(s.hidden, hidden, d),
                               false, given);
    kernels::swiglu_backward<T>(queue_, w.mlp, normed, saved, d, sums.mlp,
                                scratch_tile(s.hidden, 3 * hidden, d), false, given);
    kernels::normalise_backward<T>(queue_, w.norm2, sum, given, d, d, sums.norm2);
    kernels::linear_gradient<T>(queue_, y, d, sums.out);
    const Tile<T> dy = normed;
    kernels::linear_backward<T>(queue_, w.out, d, {}, false, dy);
    if (!config_.is_sparse())
        kernels::attend_delta<T>(queue_, config_.heads(), y, dy, delta_ball_.tile(tile));
    copy_tile(dy, y);
}

/// Computes the gradient of x from the gradients of q, k, v and gates.
template <class T>
void LayerGradient<T>::start_backward(const LayerWeights<T>& w, bool rotated, Tiles<const T> x,
                                      Tiles<T> dx, int64_t tile, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    LayerSums& sums = sums_[static_cast<size_t>(thread)];
    const Tile<T> d = dx.tile(tile);
    const Tile<T> a = scratch_tile(s.a, config_.n_channel, d);
    const Tile<T> da = scratch_tile(s.b, config_.n_channel, d);
    kernels::normalise<T>(queue_, w.norm1, x.tile(tile), a);
    const Tiles<const T> rel = forward_.plan().relative(rotated);
    if (config_.has_balls()) kernels::linear<T>(queue_, w.position, rel.tile(tile), a, a);
    const auto backward = [&](const kernels::Linear<T>& layer, const Tiles<T>& dy,
                              const kernels::LinearGradient& sum, bool accumulate) {
        kernels::linear_gradient<T>(queue_, a, dy.tile(tile), sum);
        kernels::linear_backward<T>(queue_, layer, dy.tile(tile), {}, accumulate, da);
    };
    backward(w.q, dq_, sums.q, false);
    backward(w.k, dk_, sums.k, true);
    backward(w.v, dv_, sums.v, true);
    if (w.gates.weight) backward(w.gates, dgate_, sums.gates, true);
    if (config_.has_balls()) kernels::linear_gradient<T>(queue_, rel.tile(tile), da, sums.position);
    if (drelative_.data)
        kernels::linear_backward<T>(queue_, w.position, da, {}, true, drelative_.tile(tile));
    kernels::normalise_backward<T>(queue_, w.norm1, x.tile(tile), da, d, d, sums.norm1);
}

template <class T>
int64_t LayerGradient<T>::bytes() const {
    int64_t n_byte = visits_.bytes();
    for (const Buffer<T>& buffer : memory_) n_byte += buffer.bytes();
    for (const LayerSums& sums : sums_) n_byte += sums.bytes();
    for (const Scratch& s : scratch_) {
        for (const Buffer<T>* buffer :
             {&s.a, &s.b, &s.c, &s.saved, &s.hidden, &s.gate, &s.dgate, &s.branch[0], &s.branch[1],
              &s.branch[2], &s.distance, &s.slope, &s.attend, &s.folded, &s.dfolded, &s.coarse,
              &s.dcoarse, &s.blocks}) {
            n_byte += buffer->bytes();
        }
        n_byte += s.keys.bytes() + s.dkeys.bytes();
    }
    return n_byte;
}

template class LayerGradient<float>;
template class LayerGradient<double>;

}  // namespace surrogate::impl::bsa
