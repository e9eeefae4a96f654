// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/hept/hept.hpp"

namespace surrogate::kernels::hept::ref {
namespace {

/// Addresses of the parts of a token's row.
template <class T>
struct Row {
    const T *q, *x, *k, *v;
};

template <class T>
Row<T> row_of(const RowShape& shape, const Block<T>& block, int32_t token) {
    const T* q = block.rows + token * shape.stride();
    const T* k = q + shape.n_query();
    return {q, q + shape.n_channel, k, k + shape.n_channel};
}

template <class T>
T weight_of(T square) {
    const T weight = std::exp(-square / 2);
    return weight < static_cast<T>(std::numeric_limits<float>::min()) && std::is_same_v<T, float>
               ? T(0)
               : weight;
}

/// Returns exp(-|Q - K|^2 / 2) of a query and a key.
template <class T>
T weight(const RowShape& shape, const Row<T>& query, const Row<T>& key) {
    T sum = 0;
    for (int64_t r = 0; r < shape.n_coordinate; ++r)
        sum += (query.x[r] - key.x[r]) * (query.x[r] - key.x[r]);
    for (int64_t c = 0; c < shape.n_channel; ++c)
        sum += (query.q[c] - key.k[c]) * (query.q[c] - key.k[c]);
    return weight_of(sum);
}

/// Returns exp(-|Q|^2 / 2) of a query, the weight of a key of zeros.
template <class T>
T zero_weight(const RowShape& shape, const Row<T>& query) {
    T sum = 0;
    for (int64_t r = 0; r < shape.n_coordinate; ++r) sum += query.x[r] * query.x[r];
    for (int64_t c = 0; c < shape.n_channel; ++c) sum += query.q[c] * query.q[c];
    return weight_of(sum);
}

}  // namespace

template <class T>
void attend_block(const RowShape& shape, const Block<T>& block, T* sums,
                  std::span<const int32_t> to, bool is_added) {
    T weights[block_limit];
    for (size_t i = 0; i < block.queries.size(); ++i) {
        const Row<T> query = row_of(shape, block, block.queries[i]);
        T* const sum = sums + (to.empty() ? static_cast<int64_t>(i) : to[i]) * shape.n_sum();
        if (!is_added) std::fill_n(sum, shape.n_sum(), T(0));
        T den = 0;
        for (size_t j = 0; j < block.keys.size(); ++j)
            den += weights[j] = weight(shape, query, row_of(shape, block, block.keys[j]));
        for (int64_t c = 0; c < shape.n_channel; ++c) {
            T num = 0;
            for (size_t j = 0; j < block.keys.size(); ++j)
                num += weights[j] * row_of(shape, block, block.keys[j]).v[c];
            sum[c] += num;
        }
        den += static_cast<T>(block.n_zero_key) * zero_weight(shape, query);
        sum[shape.n_channel] += den + static_cast<T>(epsilon);
    }
}

template <class T>
void attend_block_backward(const RowShape& shape, const Block<T>& block, const T* given,
                           T* dqueries, T* dkeys) {
    const auto [d, n_coordinate] = shape;
    const int64_t n_query = shape.n_query(), n_key = n_query + d;
    std::fill_n(dkeys, static_cast<int64_t>(block.keys.size()) * n_key, T(0));
    for (const int32_t i : block.queries) {
        const Row<T> query = row_of(shape, block, i);
        std::fill_n(dqueries, n_query, T(0));
        T* dkey = dkeys;
        for (const int32_t j : block.keys) {
            const Row<T> key = row_of(shape, block, j);
            T product = 0;
            for (int64_t c = 0; c < d; ++c) product += given[c] * key.v[c];
            const T a = weight(shape, query, key), z = a * (product - given[d]);
            for (int64_t r = 0; r < n_coordinate; ++r) {
                const T term = z * (key.x[r] - query.x[r]);
                dqueries[d + r] += term;
                dkey[r] -= term;
            }
            for (int64_t c = 0; c < d; ++c) {
                const T term = z * (key.k[c] - query.q[c]);
                dqueries[c] += term;
                dkey[n_coordinate + c] -= term;
                dkey[n_query + c] += a * given[c];
            }
            dkey += n_key;
        }
        const T z = static_cast<T>(block.n_zero_key) * zero_weight(shape, query) * given[d];
        for (int64_t e = 0; e < n_query; ++e) dqueries[e] += z * query.q[e];
        given += shape.n_sum();
        dqueries += n_query;
    }
}

template void attend_block(const RowShape&, const Block<float>&, float*, std::span<const int32_t>,
                           bool);
template void attend_block(const RowShape&, const Block<double>&, double*, std::span<const int32_t>,
                           bool);
template void attend_block_backward(const RowShape&, const Block<float>&, const float*, float*,
                                    float*);
template void attend_block_backward(const RowShape&, const Block<double>&, const double*, double*,
                                    double*);

}  // namespace surrogate::kernels::hept::ref
