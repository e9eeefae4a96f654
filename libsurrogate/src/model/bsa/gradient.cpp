// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/gradient.hpp"

#include <algorithm>

#include "kernels/embedding/embedding.hpp"

namespace surrogate::impl::bsa {

using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;

template <class T>
Gradient<T>::Gradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                      PointPorts<T>& ports, PointPorts<T>& back, const TreePlan<T>& plan,
                      Forward<T>& forward)
    : config_(config),
      layers_(layers),
      queue_(queue),
      ports_(ports),
      back_(back),
      plan_(plan),
      forward_(forward),
      layer_(config, layers, queue_, forward) {
    const int64_t size = plan.shape().size(config.n_channel), c = config.n_channel;
    for (int64_t layer = 0; layer <= config.depth; ++layer) saved_.emplace_back(size);
    for (Buffer<T>* buffer : {&x_, &dx_, &dres_}) *buffer = Buffer<T>(size);
    const int64_t features = config.n_feature * tile_points;
    for (int thread = 0; thread < queue_.n_thread(); ++thread) {
        scratch_.push_back({Buffer<T>(c * tile_points), Buffer<T>(c * tile_points),
                            Buffer<T>(c * tile_points), Buffer<T>(features), Buffer<T>(features),
                            Buffer<T>(features)});
        sums_.emplace_back(config);
    }
}

template <class T>
bool Gradient<T>::forward() {
    forward_.embed();
    const T* const x = forward_.work().x().data;
    for (int64_t layer = 0; layer <= config_.depth; ++layer) {
        Buffer<T>& saved = saved_[static_cast<size_t>(layer)];
        std::copy_n(x, saved.size(), saved.data());
        if (layer < config_.depth && !forward_.run_layer(layer)) return false;
    }
    forward_.head();
    return true;
}

template <class T>
bool Gradient<T>::backward(std::span<double> gradients) {
    for (EndSums& sums : sums_) sums.clear();
    std::fill(dx_.begin(), dx_.end(), T(0));
    std::fill(dres_.begin(), dres_.end(), T(0));
    const int64_t n_tile = ports_.n_tile();
    queue_.parallel_for(n_tile, [&](int64_t tile, int thread) { head_backward(tile, thread); });
    for (int64_t layer = config_.depth - 1; layer >= 0; --layer)
        if (!layer_backward(layer, gradients)) return false;
    for (int64_t i = 0; i < dx_.size(); ++i) dx_[i] += dres_[i];
    queue_.parallel_for(n_tile, [&](int64_t tile, int thread) { embed_backward(tile, thread); });
    for (size_t thread = 1; thread < sums_.size(); ++thread) sums_[0].add(sums_[thread]);
    sums_[0].add_to(layers_.weights->master(), gradients);
    return true;
}

/// Computes dx of the originals; the head does not read copies.
template <class T>
void Gradient<T>::head_backward(int64_t tile, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    EndSums& sums = sums_[static_cast<size_t>(thread)];
    const int64_t c = config_.n_channel;
    const Tile<const T> dy = back_.input(tile);
    const int64_t n = dy.shape[1];
    const Tile<T> z = tile_in(s.z, c, n), h = tile_in(s.h, c, n), dh = tile_in(s.dh, c, n);
    const Tiles<T> x = saved(config_.depth), dx = plan_.shape().tiles(dx_.data(), c);
    const int64_t* const slots = plan_.slot_of() + tile * tile_points;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) z(k, i) = x(k, slots[i]);
    kernels::linear<T>(queue_, layers_.head1, z, {}, h);
    kernels::linear_backward<T>(queue_, layers_.head2, dy, {}, false, dh);
    kernels::activate_backward<T>(queue_, kernels::Activation::gelu, h, dh, dh);
    kernels::activate<T>(queue_, kernels::Activation::gelu, h, h);
    kernels::linear_gradient<T>(queue_, h, dy, sums.head2);
    kernels::linear_gradient<T>(queue_, z, dh, sums.head1);
    kernels::linear_backward<T>(queue_, layers_.head1, dh, {}, false, z);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) dx(k, slots[i]) = z(k, i);
}

/// Differentiates a layer. dres is the gradient of the most recent block residual. Returns false if
/// scores are not finite.
template <class T>
bool Gradient<T>::layer_backward(int64_t layer, std::span<double> gradients) {
    if (config_.adds_residual(layer))
        for (int64_t i = 0; i < dx_.size(); ++i) dres_[i] = dx_[i] += dres_[i];
    const Tiles<T> x = plan_.shape().tiles(x_.data(), config_.n_channel);
    const Tiles<T> dx = plan_.shape().tiles(dx_.data(), config_.n_channel);
    const Buffer<T>& saved = saved_[static_cast<size_t>(layer)];
    std::copy(saved.begin(), saved.end(), x_.begin());
    const bool rotated = config_.is_layer_rotated(layer);
    T* const memory = forward_.work().free_memory();
    if (rotated) plan_.move(x, true, memory);
    if (rotated) plan_.move(dx, true, memory);
    if (!layer_.run(layer, x, dx, gradients)) return false;
    if (rotated) plan_.move(dx, false, memory);
    return true;
}

/// Adds the gradients of copies to the gradient of their point, in ascending order of slots.
template <class T>
void Gradient<T>::embed_backward(int64_t tile, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    EndSums& sums = sums_[static_cast<size_t>(thread)];
    const int64_t c = config_.n_channel, d = config_.n_axis, n_feature = config_.n_feature;
    const Tile<const T> p = plan_.coordinates(tile);
    const Tile<T> out = back_.output(tile);
    const int64_t n = p.shape[1];
    const Tile<T> de = tile_in(s.z, c, n), df = tile_in(s.dfeatures, n_feature, n);
    const Tiles<T> dx = plan_.shape().tiles(dx_.data(), c);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t point = tile * tile_points + i;
        for (int64_t k = 0; k < c; ++k) {
            T sum = 0;
            for (int64_t slot = plan_.slot_of()[point]; slot < plan_.end_of(point); ++slot)
                sum += dx(k, slot);
            de(k, i) = sum;
        }
    }
    kernels::linear_backward<T>(queue_, layers_.embed, de, {}, false, df);
    const Tile<T> dp = kernels::channels(out, 0, d);
    Tile<T> f = tile_in(s.features, n_feature, n);
    if (config_.features == Features::fourier) {
        kernels::fourier_features<T>(queue_, n_feature / 2, layers_.fourier, p, f);
        kernels::fourier_features_backward<T>(queue_, n_feature / 2, layers_.fourier, p, f, df,
                                              tile_in(s.angles, n_feature / 2, n), sums.fourier,
                                              dp);
    } else if (config_.features == Features::linear) {
        kernels::linear<T>(queue_, layers_.positions, p, {}, f);
        kernels::linear_gradient<T>(queue_, p, df, sums.positions);
        kernels::linear_backward<T>(queue_, layers_.positions, df, {}, false, dp);
    } else {
        f = ports_.input(tile);
        for (int64_t k = 0; k < d; ++k) std::fill_n(&dp(k, 0), n, T(0));
        for (int64_t k = 0; k < n_feature; ++k) std::copy_n(&df(k, 0), n, &out(d + k, 0));
    }
    kernels::linear_gradient<T>(queue_, f, de, sums.embed);
}

template <class T>
int64_t Gradient<T>::bytes() const {
    int64_t n_byte = layer_.bytes() + x_.bytes() + dx_.bytes() + dres_.bytes();
    for (const Buffer<T>& saved : saved_) n_byte += saved.bytes();
    for (const EndSums& sums : sums_) n_byte += sums.bytes();
    for (const Scratch& s : scratch_) {
        n_byte += s.z.bytes() + s.h.bytes() + s.dh.bytes() + s.features.bytes() +
                  s.dfeatures.bytes() + s.angles.bytes();
    }
    return n_byte;
}

template class Gradient<float>;
template class Gradient<double>;

}  // namespace surrogate::impl::bsa
