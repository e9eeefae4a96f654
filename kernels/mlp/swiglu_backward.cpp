// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/dispatch.hpp"
#include "kernels/mlp/swiglu.hpp"

namespace surrogate::kernels {
namespace {

template <class T>
void product_backward(const Queue& queue, Tile<const T> u, Tile<const T> w, Tile<T> t, Tile<T> du,
                      Tile<T> dw) {
    if (!uses_simd<T>(queue, "swiglu_backward"))
        return ref::swiglu_product_backward(u, w, t, du, dw);
    if constexpr (std::is_same_v<T, float>)
        simd::swiglu_product_backward(queue.level(), u, w, t, du, dw);
}

}  // namespace

template <class T>
void swiglu_backward(const Queue& queue, const SwiGlu<T>& mlp, Tile<const T> x, Tile<const T> saved,
                     Tile<const T> dy, const std::array<LinearGradient, 3>& gradients,
                     Tile<T> scratch, bool accumulate, Tile<T> dx) {
    const int64_t n_hidden = mlp.n_hidden();
    saved.shape[1] = scratch.shape[1] = x.shape[1];
    const auto part = [&](auto tile, int64_t which) {
        return channels(tile, which * n_hidden, n_hidden);
    };
    const Tile<T> t = part(scratch, 0), du = part(scratch, 1), dw = part(scratch, 2);
    linear_backward<T>(queue, mlp.w3, dy, {}, false, t);
    product_backward<T>(queue, part(saved, 0), part(saved, 1), t, du, dw);
    linear_gradient<T>(queue, x, du, gradients[0]);
    linear_gradient<T>(queue, x, dw, gradients[1]);
    linear_gradient<T>(queue, t, dy, gradients[2]);
    if (!dx.data) return;
    linear_backward<T>(queue, mlp.w1, du, {}, accumulate, dx);
    linear_backward<T>(queue, mlp.w2, dw, {}, true, dx);
}

#define SURROGATE_SWIGLU(T)                                                                     \
    template void swiglu_backward(const Queue&, const SwiGlu<T>&, Tile<const T>, Tile<const T>, \
                                  Tile<const T>, const std::array<LinearGradient, 3>&, Tile<T>, \
                                  bool, Tile<T>);
SURROGATE_SWIGLU(float)
SURROGATE_SWIGLU(double)
#undef SURROGATE_SWIGLU

}  // namespace surrogate::kernels
