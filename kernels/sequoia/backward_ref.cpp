// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "kernels/sequoia/backward.hpp"
#include "kernels/sequoia/softmax_ref.hpp"

namespace surrogate::kernels::sequoia::ref {
namespace {

/// A query of one head, the gradient of its result, and the target of its own gradient, each at its
/// first channel.
template <class T>
struct Query {
    const T* q;
    int64_t q_row;
    const T* g;
    int64_t g_row;
    T* dq;
    int64_t dq_row;
};

template <class T>
Query<T> query_of(const Heads& heads, int64_t h, int64_t i, Tile<const T> q, Tile<const T> g,
                  Tile<T> dq) {
    return {&q(h * heads.n_key_dim, i),  q.stride[0], &g(h * heads.n_value_dim, i), g.stride[0],
            &dq(h * heads.n_key_dim, i), dq.stride[0]};
}

/// A key of one head, its value, and their gradients, each at its first channel.
template <class T>
struct Key {
    const T *k, *v;
    int64_t k_row, v_row;
    T *dk, *dv;
    int64_t dk_row, dv_row;
};

template <class T>
Key<T> key_of(const Heads& heads, int64_t h, int64_t j, Tile<const T> k, Tile<const T> v,
              Tile<T> dk, Tile<T> dv) {
    const int64_t c = h * heads.n_key_dim, o = h * heads.n_value_dim;
    return {&k(c, j),  &v(o, j),  k.stride[0],  v.stride[0],
            &dk(c, j), &dv(o, j), dk.stride[0], dv.stride[0]};
}

template <class T>
Key<T> key_of(const Heads& heads, int64_t h, const Node<T>& node, const NodeGradient<T>& to) {
    const int64_t c = h * heads.n_key_dim, o = h * heads.n_value_dim;
    return {node.k + c * node.row, node.v + o * node.row, node.row, node.row,
            to.k + c * to.row,     to.v + o * to.row,     to.row,   to.row};
}

/// Adds the gradients of one softmax with n weights; key(j) is its key j.
template <class T>
void add_gradients(const Heads& heads, const Query<T>& query, int64_t n, const T* weights,
                   const auto& key) {
    const T log_2 = std::numbers::ln2_v<T>;
    const auto slope = [&](int64_t j) {
        return product(heads.n_value_dim, query.g, query.g_row, key(j).v, key(j).v_row);
    };
    T delta = 0;
    for (int64_t j = 0; j < n; ++j) delta += weights[j] * slope(j);
    for (int64_t j = 0; j < n; ++j) {
        const Key<T> at = key(j);
        const T ds = log_2 * weights[j] * (slope(j) - delta);
        for (int64_t c = 0; c < heads.n_key_dim; ++c) {
            query.dq[c * query.dq_row] += ds * at.k[c * at.k_row];
            at.dk[c * at.dk_row] += ds * query.q[c * query.q_row];
        }
        for (int64_t c = 0; c < heads.n_value_dim; ++c)
            at.dv[c * at.dv_row] += weights[j] * query.g[c * query.g_row];
    }
}

}  // namespace

template <class T>
void attend_tree_backward(const Heads& heads, Tile<const T> q, Tile<const T> k, Tile<const T> v,
                          const Surroundings<T>& around, Tile<const T> g,
                          std::span<const NodeGradient<T>> ancestors, T* scratch, Tile<T> dq,
                          Tile<T> dk, Tile<T> dv) {
    const int64_t n_node = q.shape[1], n_ancestor = around.n_ancestor;
    for (int64_t i = 0; i < n_node; ++i) {
        const Group<T> group = group_of(around, i / around.k, n_node);
        const NodeGradient<T>* to = ancestors.data() + i / around.k * n_ancestor;
        for (int64_t h = 0; h < heads.n_head; ++h) {
            weigh(heads, h, q, k, around, group, i, scratch);
            const Query<T> query = query_of(heads, h, i, q, g, dq);
            add_gradients(heads, query, n_ancestor, scratch,
                          [&](int64_t a) { return key_of(heads, h, group.ancestors[a], to[a]); });
            if (around.has_siblings)
                add_gradients(heads, query, group.count, scratch + n_ancestor, [&](int64_t j) {
                    return key_of(heads, h, group.first + j, k, v, dk, dv);
                });
        }
    }
}

template <class T>
void attend_children_backward(const Heads& heads, int64_t k_branch, int64_t n_last, Tile<const T> q,
                              Tile<const T> k, Tile<const T> v, Tile<const T> g, T* scratch,
                              Tile<T> dq, Tile<T> dk, Tile<T> dv) {
    const int64_t n_child = k.shape[1];
    for (int64_t first = 0, p = 0; first < n_child; first += k_branch, ++p) {
        const int64_t count = std::min(k_branch, n_child - first);
        for (int64_t h = 0; h < heads.n_head; ++h) {
            weigh_columns(heads, h, q, p, k, first, count, first + count == n_child ? n_last : 1,
                          scratch);
            add_gradients(heads, query_of(heads, h, p, q, g, dq), count, scratch,
                          [&](int64_t j) { return key_of(heads, h, first + j, k, v, dk, dv); });
        }
    }
}

template void attend_tree_backward(const Heads&, Tile<const float>, Tile<const float>,
                                   Tile<const float>, const Surroundings<float>&, Tile<const float>,
                                   std::span<const NodeGradient<float>>, float*, Tile<float>,
                                   Tile<float>, Tile<float>);
template void attend_tree_backward(const Heads&, Tile<const double>, Tile<const double>,
                                   Tile<const double>, const Surroundings<double>&,
                                   Tile<const double>, std::span<const NodeGradient<double>>,
                                   double*, Tile<double>, Tile<double>, Tile<double>);
template void attend_children_backward(const Heads&, int64_t, int64_t, Tile<const float>,
                                       Tile<const float>, Tile<const float>, Tile<const float>,
                                       float*, Tile<float>, Tile<float>, Tile<float>);
template void attend_children_backward(const Heads&, int64_t, int64_t, Tile<const double>,
                                       Tile<const double>, Tile<const double>, Tile<const double>,
                                       double*, Tile<double>, Tile<double>, Tile<double>);

}  // namespace surrogate::kernels::sequoia::ref
