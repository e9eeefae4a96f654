// SPDX-License-Identifier: Apache-2.0
#include "kernels/sequoia/softmax_ref.hpp"

namespace surrogate::kernels::sequoia::ref {
namespace {

/// Returns channel c of node i from its weights.
template <class T>
T average(int64_t c, int64_t i, Tile<const T> v, const Surroundings<T>& around,
          const Group<T>& group, const T* weights) {
    T sum = 0, siblings = 0;
    for (int64_t a = 0; a < around.n_ancestor; ++a)
        sum += weights[a] * group.ancestors[a].v[c * group.ancestors[a].row];
    for (int64_t j = 0; around.has_siblings && j < group.count; ++j)
        siblings += weights[around.n_ancestor + j] * v(c, group.first + j);
    sum += siblings;
    if (around.children.data) sum += around.children(c, i);
    return sum / 3;
}

}  // namespace

template <class T>
void attend_tree(const Heads& heads, Tile<const T> q, Tile<const T> k, Tile<const T> v,
                 const Surroundings<T>& around, T* scratch, Tile<T> y) {
    const int64_t e = heads.n_value_dim, n_node = q.shape[1];
    T* weights = scratch;
    T* results =
        scratch + around.n_ancestor + around.k;  // (e, k): y may be v, which all siblings read
    for (int64_t g = 0; g * around.k < n_node; ++g) {
        const Group<T> group = group_of(around, g, n_node);
        const auto [first, count] = std::pair(group.first, group.count);
        for (int64_t h = 0; h < heads.n_head; ++h) {
            for (int64_t i = 0; i < count; ++i) {
                weigh(heads, h, q, k, around, group, first + i, weights);
                for (int64_t c = 0; c < e; ++c)
                    results[c * around.k + i] =
                        average(h * e + c, first + i, v, around, group, weights);
            }
            for (int64_t c = 0; c < e; ++c)
                for (int64_t i = 0; i < count; ++i)
                    y(h * e + c, first + i) = results[c * around.k + i];
        }
    }
}

template void attend_tree(const Heads&, Tile<const float>, Tile<const float>, Tile<const float>,
                          const Surroundings<float>&, float*, Tile<float>);
template void attend_tree(const Heads&, Tile<const double>, Tile<const double>, Tile<const double>,
                          const Surroundings<double>&, double*, Tile<double>);

}  // namespace surrogate::kernels::sequoia::ref
