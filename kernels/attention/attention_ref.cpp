// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/attention/attention.hpp"

namespace surrogate::kernels::ref {
namespace {

/// Returns the score s of one query and one key of head h.
template <class T>
T score(const Heads& heads, int64_t h, Tile<const T> q, int64_t i, Tile<const T> k, int64_t j,
        T added) {
    T sum = added;
    for (int64_t c = h * heads.n_key_dim; c < (h + 1) * heads.n_key_dim; ++c)
        sum += q(c, i) * k(c, j);
    return sum;
}

}  // namespace

template <class T>
void attend(const Heads& heads, Tile<const T> q, Tile<const T> k, Tile<const T> v, T w,
            const DistanceBias<T>& bias, SoftmaxState<T> state) {
    if (w == 0) return;
    const int64_t n_key = k.shape[1], e = heads.n_value_dim;
    for (int64_t h = 0; h < heads.n_head; ++h) {
        for (int64_t i = 0; i < q.shape[1]; ++i) {
            const auto score_of = [&](int64_t j) {
                const T added = bias.factor ? bias.factor[h] * bias.distance(j, i) : T(0);
                return score(heads, h, q, i, k, j, added);
            };
            T maximum = state.maximum(h)[i];
            for (int64_t j = 0; j < n_key; ++j) maximum = std::max(maximum, score_of(j));
            T* value = state.value(h) + i;
            const T rescale = std::exp2(state.maximum(h)[i] - maximum);
            state.maximum(h)[i] = maximum;
            state.sum(h)[i] *= rescale;
            for (int64_t c = 0; c < e; ++c) value[c * tile_points] *= rescale;
            for (int64_t j = 0; j < n_key; ++j) {
                const T share = w * std::exp2(score_of(j) - maximum);
                state.sum(h)[i] += share;
                for (int64_t c = 0; c < e; ++c) value[c * tile_points] += share * v(h * e + c, j);
            }
        }
    }
}

template <class T>
void log_sums(SoftmaxState<T> state, Tile<T> log_sum) {
    for (int64_t h = 0; h < state.heads.n_head; ++h) {
        for (int64_t i = 0; i < log_sum.shape[1]; ++i) {
            const T sum = state.sum(h)[i];
            log_sum(h, i) = state.maximum(h)[i] + (sum == 0 ? T(0) : std::log2(sum));
        }
    }
}

template <class T>
void attend_delta(const Heads& heads, Tile<const T> y, Tile<const T> dy, Tile<T> delta) {
    const int64_t e = heads.n_value_dim;
    for (int64_t h = 0; h < heads.n_head; ++h) {
        for (int64_t i = 0; i < y.shape[1]; ++i) {
            T sum = 0;
            for (int64_t c = h * e; c < (h + 1) * e; ++c) sum += dy(c, i) * y(c, i);
            delta(h, i) = sum;
        }
    }
}

namespace {

/// Computes p and ds of query i and key j of head h; `added` is added to their score.
template <class T>
struct Pair {
    Pair(const Heads& heads, int64_t h, const AttendGradient<T>& of, int64_t i, Tile<const T> k,
         Tile<const T> v, int64_t j, T added)
        : p(of.key_weight * std::exp2(score(heads, h, of.q, i, k, j, added) - of.log_sum(h, i))) {
        T sum = 0;
        for (int64_t c = h * heads.n_value_dim; c < (h + 1) * heads.n_value_dim; ++c)
            sum += of.dy(c, i) * v(c, j);
        ds = p * (sum - of.delta(h, i));
    }
    T p, ds;
};

template <class T>
constexpr T ln_2 = T(0.69314718055994531);

}  // namespace

template <class T>
void attend_backward_queries(const Heads& heads, const AttendGradient<T>& of, Tile<const T> k,
                             Tile<const T> v, const DistanceBias<T>& bias, Tile<T> dq,
                             double* dfactor) {
    if (of.key_weight == 0) return;
    const int64_t d = heads.n_key_dim;
    for (int64_t h = 0; h < heads.n_head; ++h) {
        for (int64_t i = 0; i < of.q.shape[1]; ++i) {
            for (int64_t j = 0; j < k.shape[1]; ++j) {
                const T distance = bias.factor ? bias.distance(j, i) : T(0);
                const T added = bias.factor ? bias.factor[h] * distance : T(0);
                const T slope = Pair<T>(heads, h, of, i, k, v, j, added).ds, ds = ln_2<T> * slope;
                if (bias.slope.data) bias.slope(j, i) += bias.factor[h] * slope;
                for (int64_t c = h * d; c < (h + 1) * d; ++c) dq(c, i) += ds * k(c, j);
                if (dfactor) dfactor[h] += static_cast<double>(ds * distance);
            }
        }
    }
}

template <class T>
void attend_backward_keys(const Heads& heads, const AttendGradient<T>& of, Tile<const T> k,
                          Tile<const T> v, const DistanceBias<T>& bias, Tile<T> dk, Tile<T> dv) {
    if (of.key_weight == 0) return;
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim;
    for (int64_t h = 0; h < heads.n_head; ++h) {
        for (int64_t j = 0; j < k.shape[1]; ++j) {
            for (int64_t i = 0; i < of.q.shape[1]; ++i) {
                const T added = bias.factor ? bias.factor[h] * bias.distance(i, j) : T(0);
                const Pair<T> pair(heads, h, of, i, k, v, j, added);
                if (bias.slope.data) bias.slope(i, j) += bias.factor[h] * pair.ds;
                for (int64_t c = h * d; c < (h + 1) * d; ++c)
                    dk(c, j) += ln_2<T> * pair.ds * of.q(c, i);
                for (int64_t c = h * e; c < (h + 1) * e; ++c) dv(c, j) += pair.p * of.dy(c, i);
            }
        }
    }
}

#define SURROGATE_ATTENTION(T)                                                                   \
    template void attend(const Heads&, Tile<const T>, Tile<const T>, Tile<const T>, T,           \
                         const DistanceBias<T>&, SoftmaxState<T>);                               \
    template void log_sums(SoftmaxState<T>, Tile<T>);                                            \
    template void attend_delta(const Heads&, Tile<const T>, Tile<const T>, Tile<T>);             \
    template void attend_backward_queries(const Heads&, const AttendGradient<T>&, Tile<const T>, \
                                          Tile<const T>, const DistanceBias<T>&, Tile<T>,        \
                                          double*);                                              \
    template void attend_backward_keys(const Heads&, const AttendGradient<T>&, Tile<const T>,    \
                                       Tile<const T>, const DistanceBias<T>&, Tile<T>, Tile<T>);
SURROGATE_ATTENTION(float)
SURROGATE_ATTENTION(double)
#undef SURROGATE_ATTENTION

}  // namespace surrogate::kernels::ref
