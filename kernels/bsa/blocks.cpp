// SPDX-License-Identifier: Apache-2.0
// Sums of a few numbers in a fixed order, and copies. One version serves both backends.
#include "kernels/base/dispatch.hpp"
#include "kernels/bsa/bsa.hpp"

namespace surrogate::kernels::bsa {
namespace {

/// Calls body(column, first, count) for the runs of slots begin .. begin + n_slot - 1 that are in
/// one tile. `column` points to channel 0 of slot begin + first.
template <class T, class Body>
void for_runs(const Tiles<T>& x, int64_t begin, int64_t n_slot, const Body& body) {
    for (int64_t first = 0, count; first < n_slot; first += count) {
        count = std::min(n_slot - first, x.n_column - (begin + first) % x.n_column);
        body(x.column(begin + first), first, count);
    }
}

}  // namespace

template <class T>
void block_means(const Queue& queue, int64_t l, Tiles<const T> x, int64_t first_block, Tile<T> y) {
    uses_simd<T>(queue, "block_means");
    const T share = 1 / static_cast<T>(l);
    for (int64_t b = 0; b < y.shape[1]; ++b) {
        for (int64_t c = 0; c < y.shape[0]; ++c) y(c, b) = 0;
        for_runs(x, (first_block + b) * l, l, [&](const T* column, int64_t, int64_t count) {
            for (int64_t c = 0; c < y.shape[0]; ++c) {
                T sum = y(c, b);
                for (int64_t t = 0; t < count; ++t) sum += column[c * x.row + t];
                y(c, b) = sum;
            }
        });
        for (int64_t c = 0; c < y.shape[0]; ++c) y(c, b) *= share;
    }
}

template <class T>
void block_means_backward(const Queue& queue, int64_t l, Tile<const T> dy, int64_t first_block,
                          Tiles<T> dx) {
    uses_simd<T>(queue, "block_means_backward");
    const T share = 1 / static_cast<T>(l);
    for (int64_t b = 0; b < dy.shape[1]; ++b) {
        for_runs(dx, (first_block + b) * l, l, [&](T* column, int64_t, int64_t count) {
            for (int64_t c = 0; c < dy.shape[0]; ++c) {
                const T part = share * dy(c, b);
                for (int64_t t = 0; t < count; ++t) column[c * dx.row + t] += part;
            }
        });
    }
}

template <class T>
void fold_blocks(const Queue& queue, int64_t l, int64_t n_dim, int64_t head, Tiles<const T> x,
                 int64_t first_block, Tile<T> y) {
    uses_simd<T>(queue, "fold_blocks");
    for (int64_t b = 0; b < y.shape[1]; ++b) {
        const auto fold = [&](const T* column, int64_t first, int64_t count) {
            for (int64_t c = 0; c < n_dim; ++c) {
                const T* from = column + (head * n_dim + c) * x.row;
                T* to = &y(first * n_dim + c, b);
                for (int64_t t = 0; t < count; ++t) to[t * n_dim * y.stride[0]] = from[t];
            }
        };
        for_runs(x, (first_block + b) * l, l, fold);
    }
}

template <class T>
void fold_blocks_backward(const Queue& queue, int64_t l, int64_t n_dim, int64_t head,
                          Tile<const T> dy, int64_t first_block, Tiles<T> dx) {
    uses_simd<T>(queue, "fold_blocks_backward");
    for (int64_t b = 0; b < dy.shape[1]; ++b) {
        const auto unfold = [&](T* column, int64_t first, int64_t count) {
            for (int64_t c = 0; c < n_dim; ++c) {
                T* to = column + (head * n_dim + c) * dx.row;
                const T* from = &dy(first * n_dim + c, b);
                for (int64_t t = 0; t < count; ++t) to[t] += from[t * n_dim * dy.stride[0]];
            }
        };
        for_runs(dx, (first_block + b) * l, l, unfold);
    }
}

template void block_means(const Queue&, int64_t, Tiles<const float>, int64_t, Tile<float>);
template void block_means(const Queue&, int64_t, Tiles<const double>, int64_t, Tile<double>);
template void block_means_backward(const Queue&, int64_t, Tile<const float>, int64_t, Tiles<float>);
template void block_means_backward(const Queue&, int64_t, Tile<const double>, int64_t,
                                   Tiles<double>);
template void fold_blocks(const Queue&, int64_t, int64_t, int64_t, Tiles<const float>, int64_t,
                          Tile<float>);
template void fold_blocks(const Queue&, int64_t, int64_t, int64_t, Tiles<const double>, int64_t,
                          Tile<double>);
template void fold_blocks_backward(const Queue&, int64_t, int64_t, int64_t, Tile<const float>,
                                   int64_t, Tiles<float>);
template void fold_blocks_backward(const Queue&, int64_t, int64_t, int64_t, Tile<const double>,
                                   int64_t, Tiles<double>);

}  // namespace surrogate::kernels::bsa
