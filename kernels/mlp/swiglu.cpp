// SPDX-License-Identifier: Apache-2.0
#include "kernels/mlp/swiglu.hpp"

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels {

template <class T>
void swiglu(const Queue& queue, const SwiGlu<T>& mlp, Tile<const T> x, Tile<T> scratch,
            bool accumulate, Tile<T> y) {
    if (!uses_simd<T>(queue, "swiglu")) return ref::swiglu(mlp, x, scratch, accumulate, y);
    if constexpr (std::is_same_v<T, float>)
        simd::swiglu(queue.level(), mlp, x, scratch, accumulate, y);
}

template <class T>
void swiglu_forward(const Queue& queue, const SwiGlu<T>& mlp, Tile<const T> x, Tile<T> saved,
                    Tile<T> scratch, bool accumulate, Tile<T> y) {
    if (!uses_simd<T>(queue, "swiglu_forward"))
        return ref::swiglu_forward(mlp, x, saved, scratch, accumulate, y);
    if constexpr (std::is_same_v<T, float>)
        simd::swiglu_forward(queue.level(), mlp, x, saved, scratch, accumulate, y);
}

#define SURROGATE_SWIGLU(T)                                                                       \
    template void swiglu(const Queue&, const SwiGlu<T>&, Tile<const T>, Tile<T>, bool, Tile<T>);  \
    template void swiglu_forward(const Queue&, const SwiGlu<T>&, Tile<const T>, Tile<T>, Tile<T>, \
                                 bool, Tile<T>);
SURROGATE_SWIGLU(float)
SURROGATE_SWIGLU(double)
#undef SURROGATE_SWIGLU

}  // namespace surrogate::kernels
