// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/gradient_sweep.hpp"

#include <algorithm>

#include "kernels/embedding/embedding.hpp"
#include "libsurrogate/src/model/flare/head_linear.hpp"

namespace surrogate::impl::flare {

using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;

template <class T>
GradientSweep<T>::GradientSweep(const Config& config, const Layers<T>& layers,
                                const kernels::Queue& queue, PointPorts<T>& ports,
                                PointPorts<T>& back, const OfSequence& sequence,
                                Streams<T>& streams, const Places& places)
    : config_(config),
      layers_(layers),
      queue_(queue),
      ports_(ports),
      back_(back),
      sequence_(sequence),
      streams_(streams),
      places_(places) {
    resize();
    int64_t hidden = 0, saved = 0, n_layer = 0;
    for (const MlpShape* shape : {&config.in_proj, &config.out_proj, &config.k_proj, &config.v_proj,
                                  &config.ffn, &config.physicsnemo.time_fc}) {
        hidden = std::max(hidden, shape->n_hidden);
        saved = std::max(saved, 2 * shape->n_hidden * (shape->n_layer() - 1));
        n_layer = std::max(n_layer, shape->n_layer());
    }
    const int64_t width = config.channel_dim, widest = std::max(width, config.out_dim);
    const int64_t visible =
        sequence.tokens ? 3 * width + kernels::flare::point_rows * config.num_heads : 0;
    for (int thread = 0; thread < queue.n_thread(); ++thread) {
        scratch_.push_back({Buffer<T>(width * tile_points), Buffer<T>(width * tile_points),
                            Buffer<T>(width * tile_points), Buffer<T>(width * tile_points),
                            Buffer<T>(widest * tile_points), Buffer<T>(saved * tile_points),
                            Buffer<T>(2 * hidden * tile_points), Buffer<T>(visible * tile_points),
                            std::vector<kernels::LinearGradient>(static_cast<size_t>(n_layer))});
    }
}

template <class T>
void GradientSweep<T>::resize() {
    if (config_.num_blocks > 0)
        resize_tiles(of_points_, n_tile(), kernels::flare::point_rows * config_.num_heads);
}

/// Leaves what backward() of the same MLP needs; the result is scratch.y.
template <class T>
Tile<T> GradientSweep<T>::forward(const MlpWeights<T>& weights, Tile<const T> x, int64_t tile,
                                  Scratch& scratch) {
    const kernels::ResidualMlp<T> chain = weights.view();
    const Tile<T> y = view_of(scratch.y.data(), tile, chain.n_out());
    const Tile<T> saved = view_of(scratch.saved.data(), tile, chain.n_saved());
    kernels::residual_mlp_forward<T>(queue_, chain, x, saved, false, y);
    return y;
}

template <class T>
void GradientSweep<T>::backward(const MlpWeights<T>& weights, const MlpPlace& place,
                                Tile<const T> x, Tile<const T> dy, int64_t tile, Scratch& scratch,
                                double* arena, bool accumulate, Tile<T> dx) {
    const kernels::ResidualMlp<T> chain = weights.view();
    const Tile<T> saved = view_of(scratch.saved.data(), tile, chain.n_saved());
    const Tile<T> space = view_of(scratch.mlp.data(), tile, 2 * chain.n_hidden());
    kernels::residual_mlp_backward<T>(queue_, chain, x, saved, dy, place.in(arena, scratch.layers),
                                      space, accumulate, dx);
}

/// Behind the last block.
template <class T>
void GradientSweep<T>::leave(int64_t tile, Scratch& scratch, double* arena) {
    if (sequence_.readout) return leave_sequence(tile, scratch, arena);
    const Tile<T> x = dx_of(tile);  // the last stream, replaced by its gradient
    const Tile<T> normed = view_of(scratch.normed.data(), tile);
    const Tile<T> dnormed = view_of(scratch.dnormed.data(), tile);
    const bool has_norm = config_.out_proj_norm;
    const bool drops = sequence_.tokens && sequence_.tokens->drops_head();
    if (has_norm) kernels::normalise<T>(queue_, layers_.out_norm, x, normed);
    if (drops) sequence_.tokens->drop_head(tile, x, normed);  // sequences of tokens have no norm
    const Tile<const T> last = has_norm || drops ? normed : x;
    forward(layers_.out_proj, last, tile, scratch);
    backward(layers_.out_proj, places_.out_proj, last, back_.input(tile), tile, scratch, arena,
             false, dnormed);
    if (has_norm) {
        kernels::normalise_backward<T>(queue_, layers_.out_norm, x, dnormed, {}, x,
                                       places_.out_norm.in(arena));
    } else if (drops) {
        sequence_.tokens->drop_head(tile, dnormed, x);
    } else {
        std::copy_n(dnormed.data, x.shape[0] * x.stride[0], x.data);
    }
}

namespace {

/// body(head, channels of this head) of tiles of C channels.
template <class Body>
void for_heads(int64_t n_head, int64_t n_channel, const Body& body) {
    const int64_t n_dim = n_channel / n_head;
    for (int64_t head = 0; head < n_head; ++head) body(head * n_dim, n_dim);
}

}  // namespace

/// Used if all tokens have one prediction.
template <class T>
void GradientSweep<T>::leave_sequence(int64_t tile, Scratch& scratch, double* arena) {
    const Tile<T> x = dx_of(tile);
    if (!config_.sequence.is_normed()) {
        std::fill_n(x.data, x.shape[0] * x.stride[0], T(0));
        if (sequence_.tokens->is_class_tile(tile)) sequence_.readout->give_class_token(x);
        return;
    }
    const Tile<T> normed = view_of(scratch.normed.data(), tile);
    const Tile<T> dnormed = view_of(scratch.dnormed.data(), tile);
    kernels::normalise<T>(queue_, layers_.out_norm, x, normed);
    sequence_.readout->give(tile, normed, dnormed);
    kernels::normalise_backward<T>(queue_, layers_.out_norm, x, dnormed, {}, x,
                                   places_.out_norm.in(arena));
}

/// k and mid as the forward pass had them.
template <class T>
void GradientSweep<T>::compute_again(int64_t i, int64_t tile, Scratch& scratch, const T* z) {
    const BlockWeights<T>& block = layers_.blocks[static_cast<size_t>(i)];
    const Tile<T> x = view_of(streams_.x(i, tile), tile), k = view_of(streams_.k(i, tile), tile);
    const Tile<T> normed = view_of(scratch.normed.data(), tile);
    const Tile<T> y = view_of(scratch.y.data(), tile);
    kernels::normalise<T>(queue_, block.norm1, x, normed);
    if (block.in_project.weight) {
        kernels::linear<T>(queue_, block.in_project, normed, {}, y);
        head_linear<T>(queue_, block.k_proj.layers[0], y, k);
    } else {
        const kernels::ResidualMlp<T> chain = block.k_proj.view();
        kernels::residual_mlp<T>(queue_, chain, normed,
                                 view_of(scratch.mlp.data(), tile, 2 * chain.n_hidden()), false, k);
    }
    if (config_.qk_norm) {
        for_heads(config_.num_heads, config_.channel_dim, [&](int64_t first, int64_t n) {
            const Tile<T> rows = kernels::channels(k, first, n);
            kernels::normalise<T>(queue_, block.k_norm, rows, rows);
        });
    }
    if (sequence_.tokens) sequence_.tokens->turn(tile, k, scratch.y.data());
    kernels::flare::decode<T>(queue_, block.queries, k, z, y);
    if (sequence_.tokens) sequence_.tokens->silence(tile, y);
    project_attention<T>(queue_, block, attention_dropout(), {i, tile}, y, x, normed,
                         view_of(streams_.mid(i, tile), tile));
}

/// From behind block i to its decode. dy takes the place of mid.
template <class T>
void GradientSweep<T>::finish_block(int64_t i, int64_t tile, Scratch& scratch, const T* z,
                                    kernels::flare::LatentSums<T> dz, double* arena) {
    const BlockWeights<T>& block = layers_.blocks[static_cast<size_t>(i)];
    const BlockPlaces& places = places_.blocks[static_cast<size_t>(i)];
    if (streams_.keeps() == Keeps::streams) compute_again(i, tile, scratch, z);
    const Tile<T> dx = dx_of(tile), k = view_of(streams_.k(i, tile), tile);
    const Tile<T> mid = view_of(streams_.mid(i, tile), tile), dy = mid;
    const Tile<T> normed = view_of(scratch.normed.data(), tile);
    const Tile<T> dnormed = view_of(scratch.dnormed.data(), tile);
    const Tile<T> y = view_of(scratch.y.data(), tile);
    kernels::normalise<T>(queue_, block.norm2, mid, normed);
    forward(block.ffn, normed, tile, scratch);
    backward(block.ffn, places.ffn, normed, dx, tile, scratch, arena, false, dnormed);
    kernels::normalise_backward<T>(queue_, block.norm2, mid, dnormed, dx, dx,
                                   places.norm2.in(arena));
    Tile<const T> dattention = dx;
    if (const AttentionDropout dropout = attention_dropout(); dropout.is_on()) {
        dropout.apply<T>(i, tile, dx, false, normed);
        dattention = normed;
    }
    kernels::linear_backward<T>(queue_, block.out_proj, dattention, {}, false, dy);
    if (sequence_.tokens) sequence_.tokens->silence(tile, dy);
    kernels::flare::decode_backward<T>(queue_, block.queries, k, z, dy, y, of_points(tile), dz);
    if (sequence_.tokens) sequence_.tokens->silence(tile, y);
    kernels::linear_gradient<T>(queue_, y, dattention, places.out_proj.in(arena));
}

/// dk and dv to scratch. Tokens that a mask hides are in no encoding: they have none.
template <class T>
void GradientSweep<T>::mix_back(const BlockWeights<T>& block, int64_t tile, Scratch& scratch,
                                const Latents& latents, Tile<const T> k, Tile<const T> v,
                                Tile<const T> dy) {
    const Tile<T> dk = view_of(scratch.dk.data(), tile), dv = view_of(scratch.dv.data(), tile);
    const Tile<T> rows = of_points(tile);
    if (!sequence_.tokens || !sequence_.tokens->has_hidden(tile)) {
        const T* const log_weight = log_weights_ ? log_weights_ + tile * tile_points : nullptr;
        kernels::flare::mix_backward<T>(queue_, block.queries, latents.of_block, k, v, dy, rows, dk,
                                        dv, latents.dq, log_weight);
        return;
    }
    T* room = scratch.visible.data();
    const auto visible = [&](Tile<const T> from) {
        const int64_t n = sequence_.tokens->visible(tile, from, room);
        const Tile<const T> some{room, {from.shape[0], n}, {tile_points, 1}};
        room += from.shape[0] * tile_points;
        return some;
    };
    const Tile<const T> some_k = visible(k), some_v = visible(v), some_dy = visible(dy),
                        some_rows = visible(rows);
    const int64_t n = some_k.shape[1];
    if (n > 0) {
        kernels::flare::mix_backward<T>(queue_, block.queries, latents.of_block, some_k, some_v,
                                        some_dy, some_rows, points(dk, 0, n), points(dv, 0, n),
                                        latents.dq);
    }
    sequence_.tokens->spread(tile, dk);
    sequence_.tokens->spread(tile, dv);
}

/// From the scores of block i to what is before it.
template <class T>
void GradientSweep<T>::start_block(int64_t i, int64_t tile, Scratch& scratch,
                                   const Latents& latents, double* arena) {
    const BlockWeights<T>& block = layers_.blocks[static_cast<size_t>(i)];
    const BlockPlaces& places = places_.blocks[static_cast<size_t>(i)];
    const Tile<T> x = view_of(streams_.x(i, tile), tile), k = view_of(streams_.k(i, tile), tile);
    const Tile<T> dy = view_of(streams_.mid(i, tile), tile), dx = dx_of(tile);
    const Tile<T> normed = view_of(scratch.normed.data(), tile);
    const Tile<T> dnormed = view_of(scratch.dnormed.data(), tile);
    const Tile<T> dk = view_of(scratch.dk.data(), tile), dv = view_of(scratch.dv.data(), tile);
    kernels::normalise<T>(queue_, block.norm1, x, normed);
    if (block.in_project.weight) {
        const Tile<T> projected = view_of(scratch.mlp.data(), tile);
        const Tile<T> v = view_of(scratch.y.data(), tile);
        kernels::linear<T>(queue_, block.in_project, normed, {}, projected);
        head_linear<T>(queue_, block.v_proj.layers[0], projected, v);
        mix_back(block, tile, scratch, latents, k, v, dy);
        heads_backward(i, tile, scratch, normed, arena, dnormed);
        kernels::normalise_backward<T>(queue_, block.norm1, x, dnormed, dx, dx,
                                       places.norm1.in(arena));
        return;
    }
    const Tile<T> v = forward(block.v_proj, normed, tile, scratch);
    mix_back(block, tile, scratch, latents, k, v, dy);
    backward(block.v_proj, places.v_proj, normed, dv, tile, scratch, arena, false, dnormed);
    if (sequence_.tokens) sequence_.tokens->turn_backward(tile, dk, scratch.y.data());
    const Tile<T> raw = forward(block.k_proj, normed, tile, scratch);
    if (config_.qk_norm) {
        for_heads(config_.num_heads, config_.channel_dim, [&](int64_t first, int64_t n) {
            const Tile<T> rows = kernels::channels(dk, first, n);
            kernels::normalise_backward<T>(queue_, block.k_norm, kernels::channels(raw, first, n),
                                           rows, {}, rows, places.k_norm.in(arena));
        });
    }
    backward(block.k_proj, places.k_proj, normed, dk, tile, scratch, arena, true, dnormed);
    kernels::normalise_backward<T>(queue_, block.norm1, x, dnormed, dx, dx, places.norm1.in(arena));
    if (sequence_.tokens && arena)
        sequence_.tokens->positions_backward(tile, dx, places_.sequence, arena);
}

/// From dk and dv in scratch through the layers of heads and the layer before them, whose result
/// is at the begin of scratch.mlp.
template <class T>
void GradientSweep<T>::heads_backward(int64_t i, int64_t tile, Scratch& scratch,
                                      Tile<const T> normed, double* arena, Tile<T> dnormed) {
    const BlockWeights<T>& block = layers_.blocks[static_cast<size_t>(i)];
    const BlockPlaces& places = places_.blocks[static_cast<size_t>(i)];
    const Tile<T> dk = view_of(scratch.dk.data(), tile), dv = view_of(scratch.dv.data(), tile);
    const Tile<T> projected = view_of(scratch.mlp.data(), tile);
    const Tile<T> dprojected =
        view_of(scratch.mlp.data() + config_.channel_dim * tile_points, tile);
    head_linear_backward<T>(queue_, block.v_proj.layers[0], projected, dv,
                            places.v_proj.layers[0].in(arena), false, dprojected);
    head_linear_backward<T>(queue_, block.k_proj.layers[0], projected, dk,
                            places.k_proj.layers[0].in(arena), true, dprojected);
    kernels::linear_gradient<T>(queue_, normed, dprojected, places.in_project.in(arena));
    kernels::linear_backward<T>(queue_, block.in_project, dprojected, {}, false, dnormed);
}

/// Before the first block.
template <class T>
void GradientSweep<T>::enter(int64_t tile, Scratch& scratch, bool wants_inputs, double* arena) {
    if (sequence_.tokens)
        return sequence_.tokens->embed_backward(tile, dx_of(tile), places_.sequence, arena);
    const int64_t n = config_.in_proj.n_in;
    const Tile<const T> input = kernels::channels(ports_.input(tile), 0, n);
    const auto gradient = [&](int64_t first, int64_t count) {
        return wants_inputs ? kernels::channels(back_.output(tile), first, count) : Tile<T>{};
    };
    forward(layers_.in_proj, input, tile, scratch);
    backward(layers_.in_proj, places_.in_proj, input, dx_of(tile), tile, scratch, arena, false,
             gradient(0, n));
    if (layers_.time_frequencies) time_backward(tile, scratch, arena, gradient(n, 1));
}

/// dtime without data: it is not computed.
template <class T>
void GradientSweep<T>::time_backward(int64_t tile, Scratch& scratch, double* arena, Tile<T> dtime) {
    const int64_t n_frequency = config_.channel_dim / 2;
    const Tile<const T> time = kernels::channels(ports_.input(tile), config_.in_proj.n_in, 1);
    const Tile<T> code = view_of(scratch.normed.data(), tile);
    const Tile<T> dcode = view_of(scratch.dnormed.data(), tile);
    kernels::fourier_features<T>(queue_, n_frequency, layers_.time_frequencies, time, code);
    forward(layers_.time_fc, code, tile, scratch);
    backward(layers_.time_fc, places_.time_fc, code, dx_of(tile), tile, scratch, arena, false,
             dtime.data ? dcode : Tile<T>{});
    if (!dtime.data) return;
    kernels::fourier_features_backward<T>(queue_, n_frequency, layers_.time_frequencies, time, code,
                                          dcode, view_of(scratch.y.data(), tile, n_frequency),
                                          nullptr, dtime);
}

template <class T>
void GradientSweep<T>::run(int64_t s, int64_t tile, int thread, const Latents& latents,
                           double* arena) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    if (s == config_.num_blocks) {
        leave(tile, scratch, arena);
    } else {
        start_block(s, tile, scratch, latents, arena);
    }
    if (s > 0) {
        finish_block(s - 1, tile, scratch, latents.z_before, latents.dz, arena);
    } else {
        enter(tile, scratch, latents.wants_inputs, arena);
    }
}

template <class T>
int64_t GradientSweep<T>::bytes() const {
    int64_t n_byte = of_points_.bytes();
    for (const Scratch& s : scratch_) {
        for (const Buffer<T>* buffer :
             {&s.normed, &s.dnormed, &s.dk, &s.dv, &s.y, &s.saved, &s.mlp, &s.visible})
            n_byte += buffer->bytes();
    }
    return n_byte;
}

template class GradientSweep<float>;
template class GradientSweep<double>;

}  // namespace surrogate::impl::flare
