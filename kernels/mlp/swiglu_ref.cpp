// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/activation.hpp"
#include "kernels/mlp/swiglu.hpp"

namespace surrogate::kernels::ref {
namespace {

/// Computes y(c, i) *= x(c, i).
template <class T>
void multiply(Tile<const T> x, Tile<T> y) {
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        for (int64_t i = 0; i < x.shape[1]; ++i) y(c, i) *= x(c, i);
    }
}

/// Returns channels first * n_hidden .. of a tile, with as many points as x has.
template <class T>
Tile<T> part(const SwiGlu<T>& mlp, Tile<T> tile, int64_t first, Tile<const T> x) {
    tile = channels(tile, first * mlp.n_hidden(), mlp.n_hidden());
    tile.shape[1] = x.shape[1];
    return tile;
}

/// Computes the product. u and w are kept, or the product overwrites u.
template <class T>
void chain(const SwiGlu<T>& mlp, Tile<const T> x, Tile<T> u, Tile<T> w, Tile<T> product,
           bool accumulate, Tile<T> y) {
    linear<T>(mlp.w1, x, {}, u);
    linear<T>(mlp.w2, x, {}, w);
    activate<T>(Activation::silu, u, product);
    multiply<T>(w, product);
    linear<T>(mlp.w3, product, accumulate ? Tile<const T>(y) : Tile<const T>{}, y);
}

}  // namespace

template <class T>
void swiglu(const SwiGlu<T>& mlp, Tile<const T> x, Tile<T> scratch, bool accumulate, Tile<T> y) {
    const Tile<T> u = part(mlp, scratch, 0, x), w = part(mlp, scratch, 1, x);
    chain(mlp, x, u, w, u, accumulate, y);
}

template <class T>
void swiglu_forward(const SwiGlu<T>& mlp, Tile<const T> x, Tile<T> saved, Tile<T> scratch,
                    bool accumulate, Tile<T> y) {
    chain(mlp, x, part(mlp, saved, 0, x), part(mlp, saved, 1, x), part(mlp, scratch, 0, x),
          accumulate, y);
}

template <class T>
void swiglu_product_backward(Tile<const T> u, Tile<const T> w, Tile<T> t, Tile<T> du, Tile<T> dw) {
    activate<T>(Activation::silu, u, dw);  // a = silu(u)
    activate_backward<T>(Activation::silu, u, t, du);
    multiply<T>(w, du);
    for (int64_t c = 0; c < t.shape[0]; ++c) {
        for (int64_t i = 0; i < t.shape[1]; ++i) {
            const T a = dw(c, i);
            dw(c, i) = t(c, i) * a;
            t(c, i) = w(c, i) * a;
        }
    }
}

#define SURROGATE_SWIGLU(T)                                                               \
    template void swiglu(const SwiGlu<T>&, Tile<const T>, Tile<T>, bool, Tile<T>);        \
    template void swiglu_forward(const SwiGlu<T>&, Tile<const T>, Tile<T>, Tile<T>, bool, \
                                 Tile<T>);                                                \
    template void swiglu_product_backward(Tile<const T>, Tile<const T>, Tile<T>, Tile<T>, Tile<T>);
SURROGATE_SWIGLU(float)
SURROGATE_SWIGLU(double)
#undef SURROGATE_SWIGLU

}  // namespace surrogate::kernels::ref
