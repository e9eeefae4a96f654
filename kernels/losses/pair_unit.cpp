// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/losses/pair_loss.hpp"

namespace surrogate::kernels::losses {
namespace {

constexpr int64_t rows_per_item = 256;

template <class T>
double product(const T* a, const T* b, int64_t n) {
    double sum = 0;
    for (int64_t c = 0; c < n; ++c) sum += static_cast<double>(a[c]) * static_cast<double>(b[c]);
    return sum;
}

template <class Body>
void for_rows(const Queue& queue, int64_t n_row, const Body& body) {
    queue.parallel_for((n_row + rows_per_item - 1) / rows_per_item, [&](int64_t item, int) {
        const int64_t end = std::min(n_row, (item + 1) * rows_per_item);
        for (int64_t i = item * rows_per_item; i < end; ++i) body(i);
    });
}

}  // namespace

template <class T>
void normalize(const Queue& queue, Embedding<const T> e, Embedding<T> unit) {
    const int64_t n = e.shape[1];
    for_rows(queue, e.shape[0], [&](int64_t i) {
        const T* from = &e(i, 0);
        T* to = &unit(i, 0);
        const double length = std::sqrt(product(from, from, n));
        const double factor = length > 0 ? 1 / length : length;  // a NaN stays
        for (int64_t c = 0; c < n; ++c)
            to[c] = static_cast<T>(static_cast<double>(from[c]) * factor);
        for (int64_t c = n; c < unit.stride[0]; ++c) to[c] = T(0);
    });
}

template <class T>
void normalize_backward(const Queue& queue, Embedding<const T> e, Embedding<const T> unit,
                        Embedding<const T> dunit, Embedding<T> de) {
    const int64_t n = e.shape[1];
    for_rows(queue, e.shape[0], [&](int64_t i) {
        const T *point = &e(i, 0), *direction = &unit(i, 0), *from = &dunit(i, 0);
        T* to = &de(i, 0);
        const double length = std::sqrt(product(point, point, n));
        const double factor = length > 0 ? 1 / length : length;
        const double along = product(from, direction, n);
        for (int64_t c = 0; c < n; ++c) {
            const double across =
                static_cast<double>(from[c]) - along * static_cast<double>(direction[c]);
            to[c] = static_cast<T>(across * factor);
        }
    });
}

#define SURROGATE_PAIR_UNIT(T)                                                             \
    template void normalize(const Queue&, Embedding<const T>, Embedding<T>);               \
    template void normalize_backward(const Queue&, Embedding<const T>, Embedding<const T>, \
                                     Embedding<const T>, Embedding<T>)
SURROGATE_PAIR_UNIT(float);
SURROGATE_PAIR_UNIT(double);

}  // namespace surrogate::kernels::losses
