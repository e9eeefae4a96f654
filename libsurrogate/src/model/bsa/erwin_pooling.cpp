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
void Pooling<T>::resize() {
    const SlotShape& shape = coarse_.shape();
    const int64_t n_relative = stride_ * n_axis_;
    relative_.resize(shape.size(n_relative));
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
        scratch_.push_back(
            {Buffer<T>(widest_in * shape.row()), Buffer<T>(n_child_channel * shape.row())});
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
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    const Tile<T> u{scratch.in.data(), {pool_.linear.n_in, n}, to.stride};
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < stride_; ++j) {
            const T* const child = fine.column((first + i) * stride_ + j);
            for (int64_t c = 0; c < n_channel; ++c) u(j * n_channel + c, i) = child[c * fine.row];
        }
    add_relative(tile, kernels::channels(u, stride_ * n_channel, stride_ * n_axis_));
    kernels::linear<T>(queue_, pool_.linear, u, {}, to);
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
    const int64_t n = from.shape[1], n_parent = from.shape[0], n_channel = fine.n_channel;
    const int64_t first = tile * coarse_.shape().n_column;
    const Tile<T> u{scratch.in.data(), {unpool_.linear.n_in, n}, from.stride};
    std::copy_n(from.data, n_parent * from.stride[0], u.data);
    add_relative(tile, kernels::channels(u, n_parent, stride_ * n_axis_));
    const Tile<T> z{scratch.out.data(), {n_channel, n}, from.stride};
    for (int64_t j = 0; j < stride_; ++j) {
        const int64_t row = j * n_channel, n_in = unpool_.linear.n_in;
        const kernels::Linear<T> child{n_in, n_channel, unpool_.linear.weight + row * n_in,
                                       unpool_.linear.bias + row};
        kernels::linear<T>(queue_, child, u, {}, z);
        for (int64_t i = 0; i < n; ++i) {
            const int64_t slot = (first + i) * stride_ + j;
            const T* const kept = skip.column(slot);
            T* const to = fine.column(slot);
            for (int64_t c = 0; c < n_channel; ++c)
                to[c * fine.row] = unpool_.scale[c] * kept[c * skip.row] + z(c, i);
        }
    }
}

template <class T>
int64_t Pooling<T>::bytes() const {
    int64_t n_byte = relative_.bytes();
    for (const Scratch& s : scratch_) n_byte += s.in.bytes() + s.out.bytes();
    return n_byte;
}

template class Pooling<float>;
template class Pooling<double>;

}  // namespace surrogate::impl::bsa::erwin
