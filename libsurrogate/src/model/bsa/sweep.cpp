// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/sweep.hpp"

#include <algorithm>

#include "kernels/embedding/embedding.hpp"

namespace surrogate::impl::bsa {

using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;

namespace {

/// Returns a tile of `n_point` points in scratch memory whose rows have `row` elements.
template <class T>
Tile<T> tile_in(Buffer<T>& buffer, int64_t n_channel, int64_t n_point, int64_t row) {
    return {buffer.data(), {n_channel, n_point}, {row, 1}};
}

}  // namespace

template <class T>
Sweep<T>::Sweep(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                PointPorts<T>& ports, const TreePlan<T>& plan, Workspace<T>& work)
    : config_(config), layers_(layers), queue_(queue), ports_(ports), plan_(plan), work_(work) {
    const int64_t widest = std::max({tile_points, config.block_size, config.group_size});
    const int64_t hidden = std::max(config.n_hidden, config.n_channel);
    for (int thread = 0; thread < queue.n_thread(); ++thread) {
        scratch_.push_back({Buffer<T>(config.n_channel * widest),
                            Buffer<T>(config.n_feature * tile_points),
                            Buffer<T>(2 * hidden * widest)});
    }
}

template <class T>
Tile<T> Sweep<T>::features(int64_t point_tile, Scratch& scratch) {
    if (config_.features == Features::given) return ports_.input(point_tile);
    const Tile<const T> p = plan_.coordinates(point_tile);
    const Tile<T> f = tile_in(scratch.features, config_.n_feature, p.shape[1], tile_points);
    if (config_.features == Features::fourier) {
        kernels::fourier_features<T>(queue_, config_.n_feature / 2, layers_.fourier, p, f);
    } else {
        kernels::linear<T>(queue_, layers_.positions, p, {}, f);
    }
    return f;
}

template <class T>
void Sweep<T>::embed(int64_t point_tile, int thread) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    Tile<T> e = features(point_tile, scratch);
    if (config_.has_ends()) {
        const Tile<T> f = e;
        e = tile_in(scratch.channels, config_.n_channel, f.shape[1], tile_points);
        kernels::linear<T>(queue_, layers_.embed, f, {}, e);
    }
    const Tiles<T> x = work_.x();
    for (int64_t i = 0; i < e.shape[1]; ++i) {
        const int64_t point = point_tile * tile_points + i;
        for (int64_t slot = plan_.slot_of()[point]; slot < plan_.end_of(point); ++slot) {
            T* const to = x.column(slot);
            for (int64_t c = 0; c < x.n_channel; ++c) to[c * x.row] = e(c, i);
        }
    }
}

template <class T>
void Sweep<T>::head(int64_t point_tile, int thread) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    const Tile<T> y = ports_.output(point_tile);
    const Tile<T> z = config_.has_head()
                          ? tile_in(scratch.channels, config_.n_channel, y.shape[1], tile_points)
                          : y;
    const Tiles<T> x = work_.x();
    for (int64_t i = 0; i < z.shape[1]; ++i) {
        const T* const from = x.column(plan_.slot_of()[point_tile * tile_points + i]);
        for (int64_t c = 0; c < x.n_channel; ++c) z(c, i) = from[c * x.row];
    }
    if (!config_.has_head()) return;
    const Tile<T> h = tile_in(scratch.hidden, config_.n_channel, z.shape[1], tile_points);
    kernels::linear<T>(queue_, layers_.head1, z, {}, h);
    kernels::activate<T>(queue_, kernels::Activation::gelu, h, h);
    kernels::linear<T>(queue_, layers_.head2, h, {}, y);
}

template <class T>
void Sweep<T>::start(const LayerWeights<T>& w, bool rotated, int64_t tile, int thread) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    Tile<T> x = work_.x().tile(tile);
    const Tile<T> a = tile_in(scratch.channels, config_.n_channel, x.shape[1], x.stride[0]);
    if (!config_.is_single_layer) {
        kernels::normalise<T>(queue_, w.norm1, x, a);
        x = a;
    }
    if (config_.has_balls()) {
        kernels::linear<T>(queue_, w.position, plan_.relative(rotated).tile(tile), x, a);
    }
    kernels::linear<T>(queue_, w.q, a, {}, work_.q().tile(tile));
    kernels::linear<T>(queue_, w.k, a, {}, work_.k().tile(tile));
    kernels::linear<T>(queue_, w.v, a, {}, work_.v().tile(tile));
    if (!config_.is_sparse()) return;
    const Tile<T> gate = work_.gate().tile(tile);
    if (w.gates.weight) {
        kernels::linear<T>(queue_, w.gates, a, {}, gate);
    } else {
        for (int64_t row = 0; row < gate.shape[0]; ++row)
            std::fill_n(&gate(row, 0), gate.stride[0], w.gate_rows.data()[row]);
    }
}

template <class T>
void Sweep<T>::finish(const LayerWeights<T>& w, int64_t tile, int thread) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    const Tile<T> x = work_.x().tile(tile), y = work_.y().tile(tile);
    if (config_.is_single_layer) {
        kernels::linear<T>(queue_, w.out, y, {}, x);
        return;
    }
    kernels::linear<T>(queue_, w.out, y, x, x);
    const Tile<T> a = tile_in(scratch.channels, config_.n_channel, x.shape[1], x.stride[0]);
    kernels::normalise<T>(queue_, w.norm2, x, a);
    const Tile<T> hidden = tile_in(scratch.hidden, 2 * config_.n_hidden, x.shape[1], x.stride[0]);
    kernels::swiglu<T>(queue_, w.mlp, a, hidden, true, x);
}

template <class T>
void Sweep<T>::add_residual(int64_t tile) {
    const Tile<T> x = work_.x().tile(tile), res = work_.res().tile(tile);
    for (int64_t i = 0; i < x.shape[0] * x.stride[0]; ++i) res.data[i] = x.data[i] += res.data[i];
}

template <class T>
void Sweep<T>::keep_residual(int64_t tile) {
    const Tile<T> x = work_.x().tile(tile);
    std::copy_n(x.data, x.shape[0] * x.stride[0], work_.res().tile(tile).data);
}

template <class T>
int64_t Sweep<T>::bytes() const {
    int64_t n_byte = 0;
    for (const Scratch& s : scratch_)
        n_byte += s.channels.bytes() + s.features.bytes() + s.hidden.bytes();
    return n_byte;
}

template class Sweep<float>;
template class Sweep<double>;

}  // namespace surrogate::impl::bsa
