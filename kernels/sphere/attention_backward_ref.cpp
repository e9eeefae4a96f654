// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/sphere/attention_backward.hpp"

namespace surrogate::kernels::sphere::ref {
namespace {

/// Calls body(strip, column) for all neighbors of column u, in order.
template <class Body>
void for_columns(std::span<const Strip> strips, int64_t u, const Body& body) {
    for (const Strip& strip : strips) {
        for (int64_t o = 0; o < strip.count; ++o) body(strip, u + strip.first + o);
    }
}

/// Channels of one head of one point.
template <class T>
struct Point {
    T* data;
    int64_t step;

    T& operator()(int64_t c) const { return data[c * step]; }
};

template <class T>
Point<T> point(Tile<T> tile, int64_t first_channel, int64_t i) {
    return {tile.data + first_channel * tile.stride[0] + i, tile.stride[0]};
}
template <class T>
Point<T> point(Rings<T> rings, int64_t row, int64_t first_channel, int64_t j) {
    return {rings.at(row, first_channel) + j, rings.layout->step(row)};
}

template <class T>
T product(int64_t n_dim, Point<const T> a, Point<const T> b) {
    T sum = 0;
    for (int64_t c = 0; c < n_dim; ++c) sum += a(c) * b(c);
    return sum;
}

template <class T>
constexpr T ln_2 = T(0.69314718055994531);

}  // namespace

template <class T>
void attend_neighbors_backward_queries(const Heads& heads,
                                       std::span<const QueryGradientRow<T>> rows,
                                       int64_t first_column, Rings<const T> k, Rings<const T> v,
                                       const T* weight) {
    const int64_t n_head = heads.n_head, d = heads.n_key_dim, e = heads.n_value_dim;
    const int64_t first_row = k.layout->first_row() * k.layout->n_phase();
    for (const QueryGradientRow<T>& row : rows) {
        for (int64_t h = 0; h < n_head; ++h) {
            for (int64_t i = 0; i < row.q.shape[1]; ++i) {
                const auto q = point(row.q, h * d, i), dy = point(row.dy, h * e, i);
                const auto dq = point(row.dq, h * d, i);
                for (int64_t c = 0; c < d; ++c) dq(c) = 0;
                for_columns(row.strips, first_column + i, [&](const Strip& strip, int64_t j) {
                    const auto key = point(k, strip.row, h * d, j);
                    const T p = weight[strip.row - first_row] *
                                std::exp2(product(d, q, key) - row.sums(h, i));
                    const T slope = product(e, dy, point(v, strip.row, h * e, j));
                    const T ds = p * (slope - row.sums(n_head + h, i));
                    for (int64_t c = 0; c < d; ++c) dq(c) += ds * key(c);
                });
                for (int64_t c = 0; c < d; ++c) dq(c) *= ln_2<T>;
            }
        }
    }
}

template <class T>
void attend_neighbors_backward_keys(const Heads& heads, std::span<const KeyGradientRow<T>> rows,
                                    int64_t first_column, const QueryRings<T>& of) {
    const int64_t n_head = heads.n_head, d = heads.n_key_dim, e = heads.n_value_dim;
    for (const KeyGradientRow<T>& row : rows) {
        for (int64_t h = 0; h < n_head; ++h) {
            for (int64_t j = 0; j < row.k.shape[1]; ++j) {
                const auto k = point(row.k, h * d, j), v = point(row.v, h * e, j);
                const auto dk = point(row.dk, h * d, j), dv = point(row.dv, h * e, j);
                for (int64_t c = 0; c < d; ++c) dk(c) = 0;
                for (int64_t c = 0; c < e; ++c) dv(c) = 0;
                for_columns(row.strips, first_column + j, [&](const Strip& strip, int64_t i) {
                    const auto q = point(of.q, strip.row, h * d, i);
                    const auto dy = point(of.dy, strip.row, h * e, i);
                    const auto sum = [&](int64_t c) { return of.sums.at(strip.row, c)[i]; };
                    const T p = row.weight * std::exp2(product(d, q, k) - sum(h));
                    const T ds = p * (product(e, dy, v) - sum(n_head + h));
                    for (int64_t c = 0; c < d; ++c) dk(c) += ds * q(c);
                    for (int64_t c = 0; c < e; ++c) dv(c) += p * dy(c);
                });
                for (int64_t c = 0; c < d; ++c) dk(c) *= ln_2<T>;
            }
        }
    }
}

#define SURROGATE_SPHERE_BACKWARD(T)                                                               \
    template void attend_neighbors_backward_queries(const Heads&,                                  \
                                                    std::span<const QueryGradientRow<T>>, int64_t, \
                                                    Rings<const T>, Rings<const T>, const T*);     \
    template void attend_neighbors_backward_keys(const Heads&, std::span<const KeyGradientRow<T>>, \
                                                 int64_t, const QueryRings<T>&);
SURROGATE_SPHERE_BACKWARD(float)
SURROGATE_SPHERE_BACKWARD(double)
#undef SURROGATE_SPHERE_BACKWARD

}  // namespace surrogate::kernels::sphere::ref
