// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/hept/hept.hpp"

namespace surrogate::kernels::hept::ref {
namespace {

/// Writes the row of point i, except the zeros at its end.
template <class T>
void fill_row(const Head<T>& head, Tile<const T> u, Tile<const T> x, int64_t i, T* row) {
    const auto [d, n_coordinate] = head.shape;
    for (int64_t o = 0; o < 3 * d; ++o) {
        T sum = 0;
        for (int64_t c = 0; c < head.qkv.n_in; ++c)
            sum += head.qkv.weight[o * head.qkv.n_in + c] * u(c, i);
        row[o < d ? o : o + n_coordinate] = sum;
    }
    for (int64_t r = 0; r < n_coordinate; ++r) row[d + r] = head.scale[r] * x(r, i);
}

/// Returns the sum for a query or a key with its channels at `channel`, and coordinates.
template <class T>
uint32_t hash(const RowShape& shape, const T* channel, const T* coordinate, const float* alpha) {
    double sum = 0;
    for (int64_t e = 0; e < shape.n_query(); ++e) {
        const T value = e < shape.n_channel ? channel[e] : coordinate[e - shape.n_channel];
        sum = std::fma(static_cast<double>(value), static_cast<double>(alpha[e]), sum);
    }
    return ordered_bits(static_cast<float>(sum));
}

template <class T>
double square(const T* from, int64_t n) {
    double sum = 0;
    for (int64_t e = 0; e < n; ++e)
        sum += static_cast<double>(from[e]) * static_cast<double>(from[e]);
    return sum;
}

}  // namespace

template <class T>
bool augment(const Head<T>& head, Tile<const T> u, Tile<const T> x, T* rows, const Hashes& hashes) {
    const int64_t d = head.shape.n_channel, n_query = head.shape.n_query();
    bool is_good = true;
    for (int64_t i = 0; i < u.shape[1]; ++i) {
        T* row = rows + i * head.shape.stride();
        fill_row(head, u, x, i, row);
        for (int64_t e = head.shape.n_used(); e < head.shape.stride(); ++e) row[e] = 0;
        const bool is_query_good = std::isless(square(row, n_query), largest_square);
        const bool is_key_good = std::isless(square(row + d, n_query), largest_square);
        is_good = is_good && is_query_good && is_key_good;
        if (!is_good) continue;
        for (int64_t t = 0; t < head.n_table; ++t) {
            const float* alpha = head.alpha + t * n_query;
            hashes.data[t * hashes.stride + i] = hash(head.shape, row, row + d, alpha);
            hashes.data[(head.n_table + t) * hashes.stride + i] =
                hash(head.shape, row + n_query, row + d, alpha);
        }
    }
    return is_good;
}

template bool augment(const Head<float>&, Tile<const float>, Tile<const float>, float*,
                      const Hashes&);
template bool augment(const Head<double>&, Tile<const double>, Tile<const double>, double*,
                      const Hashes&);

}  // namespace surrogate::kernels::hept::ref
