// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels/sequoia_case.hpp"

#include <random>
#include <utility>

namespace surrogate::bench {

using namespace kernels;
using namespace kernels::sequoia;

template <class T>
SequoiaStrip<T>::SequoiaStrip()
    : parameters_(4 * n_inner * n_channel + 3 * n_inner + 2 * n_channel * n_channel +
                  5 * n_channel),
      x_(n_channel * n_leaf),
      normed_(n_channel * n_leaf),
      qkv_(3 * n_inner * n_leaf),
      upper_(2 * n_inner * n_leaf),
      values_(n_inner * n_leaf),
      y_(n_channel * n_leaf),
      parents_(n_inner * n_leaf),
      hidden_(2 * n_channel * n_leaf),
      scratch_(tree_scratch(heads_, n_branch, n_ancestor)),
      gradients_(6 * n_inner * n_leaf) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (T& value : x_) value = normal(random);
    for (T& value : upper_) value = normal(random);
    for (T& value : parameters_) value = normal(random) / 16;
    T* next = parameters_.data();
    const auto take = [&](int64_t n) { return std::exchange(next, next + n); };
    norm_ = {NormKind::layer, T(1e-5), take(n_channel), take(n_channel)};
    const auto layer = [&](int64_t n_in, int64_t n_out) {
        const T* weight = take(n_in * n_out);
        return Linear<T>{n_in, n_out, weight, take(n_out)};
    };
    qkv_layer_ = layer(n_channel, 3 * n_inner);
    ff_ = layer(n_inner, n_channel);
    mlp_ = {layer(n_channel, n_channel), layer(n_channel, n_channel)};
    // Four parents of one tile and three nodes above them, in columns 0 .. 3 and 16, 17, 18.
    T *k = upper_.data(), *v = k + n_inner * n_leaf;
    T *dk = gradients_.data() + 4 * n_inner * n_leaf, *dv = dk + n_inner * n_leaf;
    for (int64_t group = 0; group < n_parent; ++group) {
        for (int64_t a = 0; a < n_ancestor; ++a) {
            const int64_t column = a == 0 ? group : 15 + a;
            ancestors_.push_back({k + column, v + column, n_leaf});
            ancestor_gradients_.push_back({dk + column, dv + column, n_leaf});
        }
    }
}

/// Returns rows [first, first + count) of a buffer of tiles, or all of them.
template <class T>
Tile<T> SequoiaStrip<T>::tile(Buffer<T>& data, int64_t first, int64_t count) const {
    const Tile<T> all = make_view(data.data(), data.size() / n_leaf, n_leaf);
    return count == 0 ? all : channels(all, first, count);
}

template <class T>
Surroundings<T> SequoiaStrip<T>::around() {
    Surroundings<T> around;
    around.k = n_branch;
    around.ancestors = ancestors_;
    around.n_ancestor = n_ancestor;
    return around;
}

template <class T>
void SequoiaStrip<T>::project(const Queue& queue) {
    normalise<T>(queue, norm_, tile(x_), tile(normed_));
    linear<T>(queue, qkv_layer_, tile(normed_), {}, tile(qkv_));
}

template <class T>
void SequoiaStrip<T>::attend(const Queue& queue) {
    attend_tree<T>(queue, heads_, tile(qkv_, 0, n_inner), tile(qkv_, n_inner, n_inner),
                   tile(qkv_, 2 * n_inner, n_inner), around(), scratch_.data(), tile(values_));
}

template <class T>
void SequoiaStrip<T>::attend_of_parents(const Queue& queue) {
    const auto parents = [](Tile<T> all) { return points(all, 0, n_parent); };
    attend_children<T>(queue, heads_, n_branch, 1, parents(tile(upper_, 0, n_inner)),
                       tile(qkv_, n_inner, n_inner), tile(values_), scratch_.data(),
                       parents(tile(parents_)));
}

template <class T>
void SequoiaStrip<T>::finish(const Queue& queue) {
    const ResidualMlp<T> mlp{mlp_, Activation::gelu};
    linear<T>(queue, ff_, tile(values_), tile(x_), tile(y_));
    normalise<T>(queue, norm_, tile(y_), tile(normed_));
    residual_mlp<T>(queue, mlp, tile(normed_), tile(hidden_), true, tile(y_));
}

template <class T>
void SequoiaStrip<T>::run(const Queue& queue) {
    project(queue);
    attend(queue);
    attend_of_parents(queue);
    finish(queue);
}

template <class T>
void SequoiaStrip<T>::backward(const Queue& queue) {
    const auto part = [&](int64_t i) { return tile(gradients_, i * n_inner, n_inner); };
    const Tile<T> q = tile(qkv_, 0, n_inner), k = tile(qkv_, n_inner, n_inner),
                  v = tile(qkv_, 2 * n_inner, n_inner);
    attend_tree_backward<T>(queue, heads_, q, k, v, around(), q, ancestor_gradients_,
                            scratch_.data(), part(0), part(1), part(2));
    const auto parents = [](Tile<T> all) { return points(all, 0, n_parent); };
    attend_children_backward<T>(queue, heads_, n_branch, 1, parents(tile(upper_, 0, n_inner)), k,
                                tile(values_), parents(q), scratch_.data(), parents(part(3)),
                                part(1), part(2));
}

template class SequoiaStrip<float>;
template class SequoiaStrip<double>;

}  // namespace surrogate::bench
