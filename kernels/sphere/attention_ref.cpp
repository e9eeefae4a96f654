// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/sphere/attention.hpp"

namespace surrogate::kernels::sphere::ref {
namespace {

/// Calls body(strip, column) for all neighbors of the query in column u, in order.
template <class Body>
void for_neighbors(std::span<const Strip> strips, int64_t u, const Body& body) {
    for (const Strip& strip : strips) {
        for (int64_t o = 0; o < strip.count; ++o) body(strip, u + strip.first + o);
    }
}

/// Returns <q_i, k_j> of one head; the pointers point at its first channels.
template <class T>
T product(int64_t n_dim, const T* q, int64_t q_step, const T* k, int64_t k_step) {
    T sum = 0;
    for (int64_t c = 0; c < n_dim; ++c) sum += q[c * q_step] * k[c * k_step];
    return sum;
}

/// Processes query i of a row, which is in column u.
template <class T>
void attend_point(const Heads& heads, int64_t h, const NeighborhoodRow<T>& row, int64_t i,
                  int64_t u, Rings<const T> k, Rings<const T> v, const T* weight, T* scratch) {
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim;
    const int64_t first_row = k.layout->first_row() * k.layout->n_phase();
    T maximum = std::numeric_limits<T>::lowest();
    int64_t n = 0;
    for_neighbors(row.strips, u, [&](const Strip& strip, int64_t j) {
        scratch[n] = product(d, &row.q(h * d, i), row.q.stride[0], k.at(strip.row, h * d) + j,
                             k.layout->step(strip.row));
        maximum = std::max(maximum, scratch[n++]);
    });
    T sum = 0;
    n = 0;
    for_neighbors(row.strips, u, [&](const Strip& strip, int64_t) {
        scratch[n] = weight[strip.row - first_row] * std::exp2(scratch[n] - maximum);
        sum += scratch[n++];
    });
    for (int64_t c = h * e; c < (h + 1) * e; ++c) {
        T value = 0;
        n = 0;
        for_neighbors(row.strips, u, [&](const Strip& strip, int64_t j) {
            value += scratch[n++] * v.at(strip.row, c)[j];
        });
        row.y(c, i) = value / sum;
    }
    if (row.log_sum.data) row.log_sum(h, i) = maximum + std::log2(sum);
}

}  // namespace

template <class T>
void attend_neighbors(const Heads& heads, std::span<const NeighborhoodRow<T>> rows,
                      int64_t first_column, Rings<const T> k, Rings<const T> v, const T* weight,
                      T* scratch) {
    for (const NeighborhoodRow<T>& row : rows) {
        for (int64_t h = 0; h < heads.n_head; ++h) {
            for (int64_t i = 0; i < row.q.shape[1]; ++i)
                attend_point(heads, h, row, i, first_column + i, k, v, weight, scratch);
        }
    }
}

template <class T>
void normalise_heads(int64_t n_head, const T* g, Tile<const T> x, Tile<T> y) {
    const int64_t n_dim = x.shape[0] / n_head;
    for (int64_t first = 0; first < x.shape[0]; first += n_dim) {
        for (int64_t i = 0; i < x.shape[1]; ++i) {
            T square = 0;
            for (int64_t c = 0; c < n_dim; ++c) square += x(first + c, i) * x(first + c, i);
            const T scale = 1 / std::sqrt(square / T(n_dim) + head_norm_eps<T>);
            for (int64_t c = 0; c < n_dim; ++c)
                y(first + c, i) = x(first + c, i) * scale * (1 + g[c]);
        }
    }
}

template void attend_neighbors(const Heads&, std::span<const NeighborhoodRow<float>>, int64_t,
                               Rings<const float>, Rings<const float>, const float*, float*);
template void normalise_heads(int64_t, const float*, Tile<const float>, Tile<float>);
template void attend_neighbors(const Heads&, std::span<const NeighborhoodRow<double>>, int64_t,
                               Rings<const double>, Rings<const double>, const double*, double*);
template void normalise_heads(int64_t, const double*, Tile<const double>, Tile<double>);

}  // namespace surrogate::kernels::sphere::ref
