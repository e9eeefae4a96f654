// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/flare/scores_ref.hpp"

namespace surrogate::kernels::flare::ref {
namespace {

template <class T>
void encode_latent(const Queries<T>& queries, Tile<const T> k, Tile<const T> v, int64_t head,
                   int64_t m, Partial<T> partial, const T* log_weight) {
    const int64_t n_dim = queries.sizes.n_dim, n_point = k.shape[1];
    const auto weighted_score = [&](int64_t i) {
        const T s = score(queries, k, head, m, i);
        return log_weight ? s + log_weight[i] : s;
    };
    T& maximum = partial.maximum(head)[m];
    const T before = maximum;
    for (int64_t i = 0; i < n_point; ++i) maximum = std::max(maximum, weighted_score(i));

    const T rescale = power_of_difference(before, maximum);
    partial.sum(head)[m] *= rescale;
    for (int64_t d = 0; d < n_dim; ++d) partial.value(head, d)[m] *= rescale;

    for (int64_t i = 0; i < n_point; ++i) {
        const T p = power_of_difference(weighted_score(i), maximum);
        partial.sum(head)[m] += p;
        for (int64_t d = 0; d < n_dim; ++d) partial.value(head, d)[m] += p * v(head * n_dim + d, i);
    }
}

template <class T>
void decode_point(const Queries<T>& queries, Tile<const T> k, const T* z, int64_t head, int64_t i,
                  Tile<T> y) {
    const auto& [n_head, n_latent, n_dim] = queries.sizes;
    T maximum = lowest_score<T>();
    for (int64_t m = 0; m < n_latent; ++m)
        maximum = std::max(maximum, score(queries, k, head, m, i));

    T sum = 0;
    for (int64_t d = 0; d < n_dim; ++d) y(head * n_dim + d, i) = 0;
    for (int64_t m = 0; m < n_latent; ++m) {
        const T p = power_of_difference(score(queries, k, head, m, i), maximum);
        sum += p;
        for (int64_t d = 0; d < n_dim; ++d)
            y(head * n_dim + d, i) += p * z[(head * n_latent + m) * n_dim + d];
    }
    for (int64_t d = 0; d < n_dim; ++d) y(head * n_dim + d, i) /= sum;
}

}  // namespace

template <class T>
void encode(const Queries<T>& queries, Tile<const T> k, Tile<const T> v, Partial<T> partial,
            const T* log_weight) {
    for (int64_t head = 0; head < queries.sizes.n_head; ++head) {
        for (int64_t m = 0; m < queries.sizes.n_latent; ++m)
            encode_latent(queries, k, v, head, m, partial, log_weight);
    }
}

template <class T>
void decode(const Queries<T>& queries, Tile<const T> k, const T* z, Tile<T> y) {
    for (int64_t head = 0; head < queries.sizes.n_head; ++head) {
        for (int64_t i = 0; i < k.shape[1]; ++i) decode_point(queries, k, z, head, i, y);
    }
}

template void encode(const Queries<float>&, Tile<const float>, Tile<const float>, Partial<float>,
                     const float*);
template void encode(const Queries<double>&, Tile<const double>, Tile<const double>,
                     Partial<double>, const double*);
template void decode(const Queries<float>&, Tile<const float>, const float*, Tile<float>);
template void decode(const Queries<double>&, Tile<const double>, const double*, Tile<double>);

}  // namespace surrogate::kernels::flare::ref
