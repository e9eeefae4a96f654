// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/erwin_pooling.hpp"

#include <algorithm>

namespace surrogate::impl::bsa::erwin {

using kernels::Buffer;
using kernels::Tile;
using kernels::Tiles;

template <class T>
Pooling<T>::Pooling(const kernels::Queue& queue, const NormedLinear<T>& pool,
                    const NormedLinear<T>& unpool, const TreePlan<T>& fine,
                    const TreePlan<T>& coarse, int64_t stride, int64_t n_axis)
    : queue_(queue),
      pool_(pool),
      unpool_(unpool),
      fine_(fine),
      coarse_(coarse),
      stride_(stride),
      n_axis_(n_axis) {}

template <class T>
void Pooling<T>::resize(bool has_backward) {
    const SlotShape& shape = coarse_.shape();
    const int64_t n_relative = stride_ * n_axis_;
    relative_.resize(shape.size(n_relative));
    if (has_backward) drelative_.resize(shape.size(n_relative));
    const Tiles<T> relative = shape.tiles(relative_.data(), n_relative);
    const double* const fine = fine_.positions();
    const double* const coarse = coarse_.positions();
    for (int64_t p = 0; p < shape.n_local(); ++p)
        for (int64_t i = 0; i < n_relative; ++i)
            relative(i, p) =
                static_cast<T>(fine[p * n_relative + i] - coarse[p * n_axis_ + i % n_axis_]);
    // Buffers start as zeros, so that columns beyond the slots of a tile are finite.
    scratch_.clear();
    const int64_t widest_in = std::max(pool_.linear.n_in, unpool_.linear.n_in);
    const int64_t n_child_channel = unpool_.linear.n_out / stride_;
    for (int thread = 0; thread < queue_.n_thread(); ++thread)
        scratch_.push_back({Buffer<T>(widest_in * shape.row()),
                            Buffer<T>(n_child_channel * shape.row()),
                            Buffer<T>(has_backward ? widest_in * shape.row() : 0)});
}

template <class T>
void Pooling<T>::add_relative(int64_t tile, Tile<T> to) const {
    const Tiles<const T> relative = coarse_.shape().tiles(relative_.data(), stride_ * n_axis_);
    const Tile<const T> from = relative.tile(tile);
    std::copy_n(from.data, from.shape[0] * from.stride[0], to.data);
}

template <class T>
void Pooling<T>::pool(Tiles<const T> fine, Tiles<T> coarse) {
    queue_.parallel_for(coarse_.shape().n_tile(), [&](int64_t tile, int thread) {
        pool_tile(fine, coarse.tile(tile), tile, thread);
    });
}

template <class T>
void Pooling<T>::pool_tile(Tiles<const T> fine, Tile<T> to, int64_t tile, int thread) {
    const int64_t n = to.shape[1], n_channel = fine.n_channel;
    const int64_t first = tile * coarse_.shape().n_column;
    if (stride_ == 1) {
        for (int64_t i = 0; i < n; ++i)
            for (int64_t c = 0; c < n_channel; ++c) to(c, i) = fine(c, first + i);
        return;
    }
    const Tile<T> u = pool_input(fine, tile, scratch_[static_cast<size_t>(thread)]);
    kernels::linear<T>(queue_, pool_.linear, u, {}, to);
}

/// Returns [x_0 .. x_{S-1}, rel] of the parents of a tile.
template <class T>
Tile<T> Pooling<T>::pool_input(Tiles<const T> fine, int64_t tile, Scratch& scratch) const {
    const SlotShape& shape = coarse_.shape();
    const int64_t n = shape.n_column, n_channel = fine.n_channel;
    const Tile<T> u{scratch.in.data(), {pool_.linear.n_in, n}, {shape.row(), 1}};
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < stride_; ++j) {
            const T* const child = fine.column((tile * n + i) * stride_ + j);
            for (int64_t c = 0; c < n_channel; ++c) u(j * n_channel + c, i) = child[c * fine.row];
        }
    add_relative(tile, kernels::channels(u, stride_ * n_channel, stride_ * n_axis_));
    return u;
}

template <class T>
void Pooling<T>::unpool(Tiles<const T> coarse, Tiles<const T> skip, Tiles<T> fine) {
    queue_.parallel_for(coarse_.shape().n_tile(), [&](int64_t tile, int thread) {
        unpool_tile(coarse.tile(tile), skip, fine, tile, thread);
    });
}

template <class T>
void Pooling<T>::unpool_tile(Tile<const T> from, Tiles<const T> skip, Tiles<T> fine, int64_t tile,
                             int thread) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    const int64_t n = from.shape[1], n_channel = fine.n_channel;
    const int64_t first = tile * coarse_.shape().n_column;
    const Tile<T> u = unpool_input(from, tile, scratch);
    const Tile<T> z{scratch.out.data(), {n_channel, n}, from.stride};
    for (int64_t j = 0; j < stride_; ++j) {
        kernels::linear<T>(queue_, child(j), u, {}, z);
        for (int64_t i = 0; i < n; ++i) {
            const int64_t slot = (first + i) * stride_ + j;
            const T* const kept = skip.column(slot);
            T* const to = fine.column(slot);
            for (int64_t c = 0; c < n_channel; ++c)
                to[c * fine.row] = unpool_.scale[c] * kept[c * skip.row] + z(c, i);
        }
    }
}

/// Returns [x_parent, rel] of a tile.
template <class T>
Tile<T> Pooling<T>::unpool_input(Tile<const T> from, int64_t tile, Scratch& scratch) const {
    const int64_t n_parent = from.shape[0];
    const Tile<T> u{scratch.in.data(), {unpool_.linear.n_in, from.shape[1]}, from.stride};
    std::copy_n(from.data, n_parent * from.stride[0], u.data);
    add_relative(tile, kernels::channels(u, n_parent, stride_ * n_axis_));
    return u;
}

/// Returns the rows of the layer that compute child j of each parent.
template <class T>
kernels::Linear<T> Pooling<T>::child(int64_t j) const {
    const int64_t n_in = unpool_.linear.n_in, n = unpool_.linear.n_out / stride_;
    return {n_in, n, unpool_.linear.weight + j * n * n_in, unpool_.linear.bias + j * n};
}

/// Calls body(tile, thread) for all tiles of parents on all threads, and moves their sums.
template <class T>
template <class Body>
void Pooling<T>::for_balls(NormedSums<T>& layer, GradientSums& sums, bool is_reproducible,
                           const Body& body) {
    const SlotShape& shape = coarse_.shape();
    if (!is_reproducible) {
        queue_.parallel_for(shape.n_tile(), body);
        for (int thread = 0; thread < queue_.n_thread(); ++thread) layer.move_to(sums, thread);
        return;
    }
    const int64_t in_ball = shape.ball / shape.n_column;
    queue_.parallel_for(shape.n_tile() / in_ball, [&](int64_t ball, int thread) {
        for (int64_t tile = ball * in_ball; tile < (ball + 1) * in_ball; ++tile) body(tile, thread);
        layer.move_to(sums, thread);
    });
}

template <class T>
void Pooling<T>::pool_backward(Tiles<const T> fine, Tiles<const T> dcoarse, Tiles<T> dfine,
                               NormedSums<T>& layer, GradientSums& sums, bool is_reproducible,
                               bool is_relative) {
    const int64_t n_channel = fine.n_channel, n = coarse_.shape().n_column;
    if (stride_ == 1) {
        queue_.parallel_for(coarse_.shape().n_tile(), [&](int64_t tile, int) {
            const Tile<const T> dy = dcoarse.tile(tile);
            for (int64_t i = 0; i < n; ++i)
                for (int64_t c = 0; c < n_channel; ++c) dfine(c, tile * n + i) += dy(c, i);
        });
        return;
    }
    for_balls(layer, sums, is_reproducible, [&](int64_t tile, int thread) {
        const Tile<const T> dy = dcoarse.tile(tile);
        Scratch& scratch = scratch_[static_cast<size_t>(thread)];
        const Tile<T> u = pool_input(fine, tile, scratch);
        const Tile<T> du{scratch.din.data(), u.shape, u.stride};
        kernels::linear_gradient<T>(queue_, u, dy, layer.combined(thread));
        kernels::linear_backward<T>(queue_, pool_.linear, dy, {}, false, du);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < stride_; ++j)
                for (int64_t c = 0; c < n_channel; ++c)
                    dfine(c, (tile * n + i) * stride_ + j) += du(j * n_channel + c, i);
        if (is_relative) add_drelative(du, tile, true);
    });
}

template <class T>
void Pooling<T>::unpool_backward(Tiles<const T> coarse, Tiles<const T> skip, Tiles<T> dfine,
                                 Tiles<T> dcoarse, NormedSums<T>& layer, GradientSums& sums,
                                 bool is_reproducible, bool is_relative) {
    const int64_t n_channel = dfine.n_channel, n = coarse_.shape().n_column;
    for_balls(layer, sums, is_reproducible, [&](int64_t tile, int thread) {
        Scratch& scratch = scratch_[static_cast<size_t>(thread)];
        const Tile<const T> from = coarse.tile(tile);
        const Tile<T> u = unpool_input(from, tile, scratch);
        const Tile<T> du{scratch.din.data(), u.shape, u.stride};
        const Tile<T> dy{scratch.out.data(), {n_channel, n}, from.stride};
        const kernels::LinearGradient all = layer.combined(thread);
        double* const of_scale = layer.scale(thread);
        for (int64_t j = 0; j < stride_; ++j) {
            for (int64_t i = 0; i < n; ++i) {
                const int64_t slot = (tile * n + i) * stride_ + j;
                for (int64_t c = 0; c < n_channel; ++c) {
                    T& d = dfine(c, slot);
                    dy(c, i) = d;
                    of_scale[c] += static_cast<double>(d) * static_cast<double>(skip(c, slot));
                    d *= unpool_.scale[c];
                }
            }
            const kernels::Linear<T> rows = child(j);
            const int64_t first = j * n_channel;
            kernels::linear_gradient<T>(queue_, u, dy,
                                        {all.weight + first * rows.n_in, all.bias + first});
            kernels::linear_backward<T>(queue_, rows, dy, {}, j > 0, du);
        }
        copy_tile(kernels::channels(du, 0, dcoarse.n_channel), dcoarse.tile(tile));
        if (is_relative) add_drelative(du, tile, false);
    });
}

/// Takes the last S d rows of the gradient of the input of a layer.
template <class T>
void Pooling<T>::add_drelative(Tile<const T> du, int64_t tile, bool accumulate) {
    const int64_t n_relative = stride_ * n_axis_, first = du.shape[0] - n_relative;
    const Tile<T> to = coarse_.shape().tiles(drelative_.data(), n_relative).tile(tile);
    for (int64_t r = 0; r < n_relative; ++r)
        for (int64_t i = 0; i < to.shape[1]; ++i)
            to(r, i) = (accumulate ? to(r, i) : T(0)) + du(first + r, i);
}

template <class T>
void Pooling<T>::positions_backward(Tiles<const T> dcoarse, Tiles<T> dfine) {
    const SlotShape& shape = coarse_.shape();
    const Tiles<const T> drelative = shape.tiles(drelative_.data(), stride_ * n_axis_);
    queue_.parallel_for(shape.n_tile(), [&](int64_t tile, int) {
        for (int64_t p = tile * shape.n_column; p < (tile + 1) * shape.n_column; ++p)
            for (int64_t k = 0; k < n_axis_; ++k) {
                T of_parent = dcoarse(k, p);
                for (int64_t j = 0; j < stride_; ++j) of_parent -= drelative(j * n_axis_ + k, p);
                of_parent /= static_cast<T>(stride_);
                for (int64_t j = 0; j < stride_; ++j)
                    dfine(k, p * stride_ + j) += drelative(j * n_axis_ + k, p) + of_parent;
            }
    });
}

template <class T>
int64_t Pooling<T>::bytes() const {
    int64_t n_byte = relative_.bytes() + drelative_.bytes();
    for (const Scratch& s : scratch_) n_byte += s.in.bytes() + s.out.bytes() + s.din.bytes();
    return n_byte;
}

template class Pooling<float>;
template class Pooling<double>;

}  // namespace surrogate::impl::bsa::erwin
