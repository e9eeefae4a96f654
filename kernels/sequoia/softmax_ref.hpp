// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/sequoia/sequoia.hpp"

/// One row of a softmax in plain loops, shared by the references of the family.
namespace surrogate::kernels::sequoia::ref {

/// Returns <a, b> over n channels, each with its own stride.
template <class T>
T product(int64_t n, const T* a, int64_t a_row, const T* b, int64_t b_row) {
    T sum = 0;
    for (int64_t c = 0; c < n; ++c) sum += a[c * a_row] * b[c * b_row];
    return sum;
}

/// Replaces n scores, in base 2, by weights with sum 1.
template <class T>
void softmax(int64_t n, T* scores) {
    T maximum = scores[0], sum = 0;
    for (int64_t j = 1; j < n; ++j) maximum = std::max(maximum, scores[j]);
    for (int64_t j = 0; j < n; ++j) sum += scores[j] = std::exp2(scores[j] - maximum);
    for (int64_t j = 0; j < n; ++j) scores[j] /= sum;
}

/// Computes the weights of columns first .. first + count - 1 of k for the query in column i of q;
/// the last column counts n_last times.
template <class T>
void weigh_columns(const Heads& heads, int64_t h, Tile<const T> q, int64_t i, Tile<const T> k,
                   int64_t first, int64_t count, int64_t n_last, T* weights) {
    const int64_t d = heads.n_key_dim;
    for (int64_t j = 0; j < count; ++j)
        weights[j] = product(d, &q(h * d, i), q.stride[0], &k(h * d, first + j), k.stride[0]);
    weights[count - 1] += static_cast<T>(std::log2(n_last));
    softmax(count, weights);
}

/// A group of siblings: columns first .. first + count - 1 of its tile; the last of them counts
/// n_last times.
template <class T>
struct Group {
    int64_t first, count, n_last;
    const Node<T>* ancestors;  ///< (n_ancestor)
};

template <class T>
Group<T> group_of(const Surroundings<T>& around, int64_t g, int64_t n_node) {
    const int64_t first = g * around.k, end = std::min(first + around.k, n_node);
    return {first, end - first, end == n_node ? around.n_last : 1,
            around.ancestors.data() + g * around.n_ancestor};
}

/// Computes the weights of node i of the tile: (n_ancestor), then (count).
template <class T>
void weigh(const Heads& heads, int64_t h, Tile<const T> q, Tile<const T> k,
           const Surroundings<T>& around, const Group<T>& group, int64_t i, T* weights) {
    const int64_t d = heads.n_key_dim, n_ancestor = around.n_ancestor;
    const T* query = &q(h * d, i);
    for (int64_t a = 0; a < n_ancestor; ++a) {
        const Node<T>& node = group.ancestors[a];
        weights[a] = product(d, query, q.stride[0], node.k + h * d * node.row, node.row);
    }
    if (n_ancestor > 0) softmax(n_ancestor, weights);
    if (around.has_siblings)
        weigh_columns(heads, h, q, i, k, group.first, group.count, group.n_last,
                      weights + n_ancestor);
}

}  // namespace surrogate::kernels::sequoia::ref
