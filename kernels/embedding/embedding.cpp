// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding/embedding.hpp"

#include "kernels/base/dispatch.hpp"
#include "kernels/linear/linear.hpp"

namespace surrogate::kernels {
namespace {

template <class T>
void angles_backward(const Queue& queue, Tile<const T> f, Tile<const T> df, Tile<T> da) {
    if (!uses_simd<T>(queue, "fourier_features_backward"))
        return ref::fourier_angles_backward(f, df, da);
    if constexpr (std::is_same_v<T, float>) simd::fourier_angles_backward(queue.level(), f, df, da);
}

}  // namespace

template <class T>
void fourier_features(const Queue& queue, int64_t n_feature, const T* weight, Tile<const T> p,
                      Tile<T> f) {
    if (!uses_simd<T>(queue, "fourier_features"))
        return ref::fourier_features(n_feature, weight, p, f);
    if constexpr (std::is_same_v<T, float>)
        simd::fourier_features(queue.level(), n_feature, weight, p, f);
}

template <class T>
void fourier_features_backward(const Queue& queue, int64_t n_feature, const T* weight,
                               Tile<const T> p, Tile<const T> f, Tile<const T> df, Tile<T> scratch,
                               double* dweight, Tile<T> dp) {
    const Tile<T> da{scratch.data, {n_feature, p.shape[1]}, scratch.stride};
    angles_backward<T>(queue, f, df, da);
    linear_gradient<T>(queue, p, da, {dweight, nullptr});
    if (dp.data)
        linear_backward<T>(queue, {p.shape[0], n_feature, weight, nullptr}, da, {}, false, dp);
}

// Copies and single additions: one version serves all backends of the host.

template <class T>
void embed_rows(const Queue& queue, const T* table, const int64_t* row, bool accumulate,
                Tile<T> y) {
    uses_simd<T>(queue, "embed_rows");
    const auto [n_channel, n_point] = y.shape;
    for (int64_t i = 0; i < n_point; ++i) {
        const T* from = table + row[i] * n_channel;
        for (int64_t c = 0; c < n_channel; ++c) y(c, i) = accumulate ? y(c, i) + from[c] : from[c];
    }
}

template <class T>
void embed_rows_backward(const Queue& queue, const int64_t* row, Tile<const T> dy, double* dtable) {
    uses_simd<T>(queue, "embed_rows_backward");
    if (!dtable) return;
    const auto [n_channel, n_point] = dy.shape;
    for (int64_t i = 0; i < n_point; ++i) {
        double* to = dtable + row[i] * n_channel;
        for (int64_t c = 0; c < n_channel; ++c) to[c] += static_cast<double>(dy(c, i));
    }
}

#define SURROGATE_EMBEDDING(T)                                                               \
    template void fourier_features(const Queue&, int64_t, const T*, Tile<const T>, Tile<T>); \
    template void fourier_features_backward(const Queue&, int64_t, const T*, Tile<const T>,  \
                                            Tile<const T>, Tile<const T>, Tile<T>, double*,  \
                                            Tile<T>);                                        \
    template void embed_rows(const Queue&, const T*, const int64_t*, bool, Tile<T>);         \
    template void embed_rows_backward(const Queue&, const int64_t*, Tile<const T>, double*);
SURROGATE_EMBEDDING(float)
SURROGATE_EMBEDDING(double)
#undef SURROGATE_EMBEDDING

}  // namespace surrogate::kernels
