// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/sweep.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/embedding/embedding.hpp"
#include "libsurrogate/src/model/flare/head_linear.hpp"

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;

template <class T>
Sweep<T>::Sweep(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                PointPorts<T>& ports, const OfSequence& sequence, Keeps keeps)
    : config_(config),
      layers_(layers),
      queue_(queue),
      ports_(ports),
      sequence_(sequence),
      streams_(keeps, config.num_blocks, config.channel_dim) {
    resize();
    const int64_t hidden =
        std::max({config.in_proj.n_hidden, config.out_proj.n_hidden, config.k_proj.n_hidden,
                  config.v_proj.n_hidden, config.ffn.n_hidden});
    const int64_t tile_size = config.channel_dim * tile_points;
    for (int thread = 0; thread < queue.n_thread(); ++thread) {
        scratch_.push_back({Buffer<T>(tile_size), Buffer<T>(tile_size), Buffer<T>(tile_size),
                            Buffer<T>(2 * hidden * tile_points)});
    }
}

template <class T>
void Sweep<T>::resize() {
    streams_.resize(sequence_.tokens ? sequence_.tokens->n_tile() : ports_.n_tile());
    // The last tile of tokens may precede the tile of the class token.
    if (sequence_.tokens) streams_.clear();
}

template <class T>
void Sweep<T>::resize(int64_t n_slot, std::span<const int64_t> slots) {
    streams_.resize(n_slot, slots);
}

template <class T>
void Sweep<T>::mlp(const MlpWeights<T>& weights, Tile<const T> x, Scratch& scratch, bool accumulate,
                   Tile<T> y) {
    const kernels::ResidualMlp<T> chain = weights.view();
    const Tile<T> space{scratch.mlp.data(), {2 * chain.n_hidden(), x.shape[1]}, {tile_points, 1}};
    kernels::residual_mlp(queue_, chain, x, space, accumulate, y);
}

template <class T>
void Sweep<T>::decode(int64_t i, int64_t tile, int thread, const T* z) {
    const BlockWeights<T>& block = layers_.blocks[static_cast<size_t>(i)];
    kernels::flare::decode<T>(queue_, block.queries, keys(i, tile), z, decoded(tile, thread));
}

template <class T>
void Sweep<T>::finish_block(int64_t i, int64_t tile, int thread) {
    Scratch& scratch = this->scratch(thread);
    const BlockWeights<T>& block = layers_.blocks[static_cast<size_t>(i)];
    const Tile<T> before = view_of(streams_.x(i, tile), tile);
    const Tile<T> mid = view_of(streams_.mid(i, tile), tile);
    const Tile<T> x = view_of(streams_.x(i + 1, tile), tile);
    const Tile<T> y = decoded(tile, thread);
    const Tile<T> normed = view_of(scratch.normed.data(), tile);
    if (sequence_.tokens) sequence_.tokens->silence(tile, y);
    project_attention<T>(queue_, block, attention_dropout(), {i, tile}, y, before, normed, mid);
    kernels::normalise<T>(queue_, block.norm2, mid, normed);
    if (x.data != mid.data) std::copy_n(mid.data, x.shape[0] * x.stride[0], x.data);
    mlp(block.ffn, normed, scratch, true, x);
}

namespace {

/// k_norm: each head's channels on their own, one weight for all heads.
template <class T>
void normalise_heads(const kernels::Queue& queue, const kernels::Norm<T>& norm, int64_t n_head,
                     Tile<T> k) {
    const int64_t n_dim = k.shape[0] / n_head;
    for (int64_t head = 0; head < n_head; ++head) {
        const Tile<T> rows = kernels::channels(k, head * n_dim, n_dim);
        kernels::normalise<T>(queue, norm, rows, rows);
    }
}

}  // namespace

template <class T>
void raise_maxima(Tile<const T> v, int64_t n_head, T* v_max) {
    const int64_t n_dim = v.shape[0] / n_head;
    for (int64_t c = 0; c < v.shape[0]; ++c) {
        T& largest = v_max[c / n_dim];
        for (int64_t i = 0; i < v.shape[1]; ++i) {
            const T size = std::abs(v(c, i));
            if (std::isgreater(size, largest)) largest = size;  // quiet: NaN is found in the sums
        }
    }
}

template <class T>
void Sweep<T>::project(int64_t i, int64_t tile, int thread) {
    Scratch& scratch = this->scratch(thread);
    const BlockWeights<T>& block = layers_.blocks[static_cast<size_t>(i)];
    const Tile<T> x = view_of(streams_.x(i, tile), tile);
    const Tile<T> k = keys(i, tile), v = values(tile, thread);
    const Tile<T> normed = view_of(scratch.normed.data(), tile);
    if (sequence_.tokens) sequence_.tokens->add_positions(tile, x);
    kernels::normalise<T>(queue_, block.norm1, x, normed);
    if (block.in_project.weight) {
        const Tile<T> projected = view_of(scratch.y.data(), tile);
        kernels::linear<T>(queue_, block.in_project, normed, {}, projected);
        head_linear<T>(queue_, block.k_proj.layers[0], projected, k);
        head_linear<T>(queue_, block.v_proj.layers[0], projected, v);
    } else {
        mlp(block.k_proj, normed, scratch, false, k);
        mlp(block.v_proj, normed, scratch, false, v);
    }
    if (config_.qk_norm) normalise_heads(queue_, block.k_norm, config_.num_heads, k);
    if (sequence_.tokens) sequence_.tokens->turn(tile, k, scratch.y.data());
}

template <class T>
void Sweep<T>::encode(int64_t i, int64_t tile, int thread, kernels::flare::Partial<T> partial,
                      T* v_max) {
    encode(layers_.blocks[static_cast<size_t>(i)], tile, scratch(thread), keys(i, tile),
           values(tile, thread), partial, v_max);
}

/// Without the tokens that a mask hides.
template <class T>
void Sweep<T>::encode(const BlockWeights<T>& block, int64_t tile, Scratch& scratch, Tile<const T> k,
                      Tile<const T> v, kernels::flare::Partial<T> partial, T* v_max) {
    if (log_weights_) return encode_weighted(block, tile, scratch, k, v, partial, v_max);
    if (v_max) raise_maxima<T>(v, config_.num_heads, v_max);
    if (!sequence_.tokens || !sequence_.tokens->has_hidden(tile)) {
        kernels::flare::encode<T>(queue_, block.queries, k, v, partial);
        return;
    }
    const int64_t n = sequence_.tokens->visible(tile, k, scratch.y.data());
    sequence_.tokens->visible(tile, v, scratch.normed.data());
    if (n == 0) return;
    const Tile<const T> visible_k{scratch.y.data(), {k.shape[0], n}, k.stride};
    const Tile<const T> visible_v{scratch.normed.data(), {v.shape[0], n}, v.stride};
    kernels::flare::encode<T>(queue_, block.queries, visible_k, visible_v, partial);
}

namespace {

/// Copies the points with a weight above 0 to the first columns of `to`, and returns their number.
template <class T>
int64_t copy_weighted(const T* log_weight, Tile<const T> from, T* to) {
    int64_t n = 0;
    for (int64_t c = 0; c < from.shape[0]; ++c) {
        n = 0;
        for (int64_t i = 0; i < from.shape[1]; ++i)
            if (log_weight[i] > T(kernels::flare::no_weight))
                to[c * tile_points + n++] = from(c, i);
    }
    return n;
}

}  // namespace

/// Without the points of weight 0.
template <class T>
void Sweep<T>::encode_weighted(const BlockWeights<T>& block, int64_t tile, Scratch& scratch,
                               Tile<const T> k, Tile<const T> v, kernels::flare::Partial<T> partial,
                               T* v_max) {
    const T* log_weight = log_weights_ + tile * tile_points;
    T counted[tile_points];
    const int64_t n =
        copy_weighted<T>(log_weight, {log_weight, {1, k.shape[1]}, {tile_points, 1}}, counted);
    if (n == 0) return;
    if (n < k.shape[1]) {
        copy_weighted(log_weight, k, scratch.y.data());
        copy_weighted(log_weight, v, scratch.normed.data());
        k = {scratch.y.data(), {k.shape[0], n}, {tile_points, 1}};
        v = {scratch.normed.data(), {v.shape[0], n}, {tile_points, 1}};
    }
    if (v_max) raise_maxima<T>(v, config_.num_heads, v_max);
    kernels::flare::encode<T>(queue_, block.queries, k, v, partial, counted);
}

/// Before the first block.
template <class T>
void Sweep<T>::enter(int64_t tile, int thread) {
    const Tile<T> x = view_of(streams_.x(0, tile), tile);
    if (sequence_.tokens) {
        sequence_.tokens->embed(tile, x);
    } else {
        const Tile<const T> input = ports_.input(tile);
        const int64_t n = config_.in_proj.n_in;
        mlp(layers_.in_proj, kernels::channels(input, 0, n), scratch(thread), false, x);
        if (layers_.time_frequencies)
            add_time(kernels::channels(input, n, 1), scratch(thread), tile, x);
    }
}

template <class T>
void Sweep<T>::add_time(Tile<const T> time, Scratch& scratch, int64_t tile, Tile<T> x) {
    const Tile<T> code = view_of(scratch.normed.data(), tile);
    kernels::fourier_features<T>(queue_, config_.channel_dim / 2, layers_.time_frequencies, time,
                                 code);
    mlp(layers_.time_fc, code, scratch, true, x);
}

/// Behind the last one.
template <class T>
void Sweep<T>::leave(int64_t tile, int thread) {
    Scratch& scratch = this->scratch(thread);
    Tile<const T> last = view_of(streams_.x(config_.num_blocks, tile), tile);
    if (config_.out_proj_norm) {
        const Tile<T> normed = view_of(scratch.normed.data(), tile);
        kernels::normalise<T>(queue_, layers_.out_norm, last, normed);
        last = normed;
    }
    if (sequence_.tokens && !sequence_.readout && sequence_.tokens->drops_head()) {
        const Tile<T> dropped = view_of(scratch.normed.data(), tile);
        sequence_.tokens->drop_head(tile, last, dropped);
        last = dropped;
    }
    if (!sequence_.readout) {
        mlp(layers_.out_proj, last, scratch, false, ports_.output(tile));
    } else if (config_.sequence.is_normed()) {
        sequence_.readout->take(tile, last);
    } else if (sequence_.tokens->is_class_tile(tile)) {
        sequence_.readout->take_class_token(last);
    }
}

template <class T>
void Sweep<T>::run(int64_t s, int64_t tile, int thread, const T* z,
                   kernels::flare::Partial<T> partial, T* v_max) {
    if (s == 0) {
        enter(tile, thread);
    } else {
        decode(s - 1, tile, thread, z);
        finish_block(s - 1, tile, thread);
    }
    if (s < config_.num_blocks) {
        project(s, tile, thread);
        encode(s, tile, thread, partial, v_max);
    } else {
        leave(tile, thread);
    }
}

template <class T>
int64_t Sweep<T>::bytes() const {
    int64_t n_byte = streams_.bytes();
    for (const Scratch& s : scratch_)
        n_byte += s.normed.bytes() + s.v.bytes() + s.y.bytes() + s.mlp.bytes();
    return n_byte;
}

template void raise_maxima(Tile<const float>, int64_t, float*);
template void raise_maxima(Tile<const double>, int64_t, double*);
template class Sweep<float>;
template class Sweep<double>;

}  // namespace surrogate::impl::flare
