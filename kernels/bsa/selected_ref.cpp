// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/bsa/bsa.hpp"

namespace surrogate::kernels::bsa::ref {
namespace {

/// Returns sum_c a(first + c, i) x[c * row].
template <class T>
T product(Tile<const T> a, int64_t first, int64_t n_dim, int64_t i, const T* x, int64_t row) {
    T sum = 0;
    for (int64_t c = 0; c < n_dim; ++c) sum += a(first + c, i) * x[c * row];
    return sum;
}

/// Computes query i of head h.
template <class T>
void attend_query(const Heads& heads, int64_t h, int64_t i, Tile<const T> q,
                  std::span<const KeyBlock<const T>> blocks, int64_t l, T* scores, Tile<T> y,
                  Tile<T> log_sum) {
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim;
    T maximum = std::numeric_limits<T>::lowest();
    int64_t n = 0;
    for (const KeyBlock<const T>& block : blocks) {
        for (int64_t t = 0; t < l; ++t) {
            scores[n] = product(q, h * d, d, i, block.k + t, block.row);
            maximum = std::max(maximum, scores[n++]);
        }
    }
    T sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += scores[j] = std::exp2(scores[j] - maximum);
    if (log_sum.data) log_sum(h, i) = maximum + std::log2(sum);
    for (int64_t c = 0; c < e; ++c) {
        T value = 0;
        n = 0;
        for (const KeyBlock<const T>& block : blocks) {
            for (int64_t t = 0; t < l; ++t) value += scores[n++] * block.v[c * block.row + t];
        }
        y(h * e + c, i) = value / sum;
    }
}

/// Computes the gradients of one group and head: adds the gradients of queries at once, and those
/// for keys and values to `sums` (d + e, n_choice l).
template <class T>
void group_backward(const Heads& heads, int64_t h, int64_t first, int64_t end,
                    const AttendGradient<T>& of, std::span<const KeyBlock<const T>> blocks,
                    int64_t l, T* sums, Tile<T> dq) {
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim;
    const int64_t n_key = static_cast<int64_t>(blocks.size()) * l;
    std::fill_n(sums, (d + e) * n_key, T(0));
    for (int64_t i = first; i < end; ++i) {
        for (int64_t j = 0; j < n_key; ++j) {
            const KeyBlock<const T>& block = blocks[static_cast<size_t>(j / l)];
            const T *k = block.k + j % l, *v = block.v + j % l;
            const T p = std::exp2(product(of.q, h * d, d, i, k, block.row) - of.log_sum(h, i));
            const T dp = product(of.dy, h * e, e, i, v, block.row);
            const T ds = std::numbers::ln2_v<T> * p * (dp - of.delta(h, i));
            for (int64_t c = 0; c < d; ++c) {
                if (dq.data) dq(h * d + c, i) += ds * k[c * block.row];
                sums[c * n_key + j] += ds * of.q(h * d + c, i);
            }
            for (int64_t c = 0; c < e; ++c) sums[(d + c) * n_key + j] += p * of.dy(h * e + c, i);
        }
    }
}

}  // namespace

template <class T>
void attend_blocks(const Heads& heads, Tile<const T> q, const ChosenBlocks<const T>& chosen,
                   T* scratch, Tile<T> y, Tile<T> log_sum) {
    const auto n_choice = static_cast<size_t>(chosen.n_choice);
    for (int64_t i = 0; i < q.shape[1]; ++i) {
        for (int64_t h = 0; h < heads.n_head; ++h)
            attend_query(heads, h, i, q, {chosen.of(heads, i / chosen.g, h), n_choice}, chosen.l,
                         scratch, y, log_sum);
    }
}

template <class T>
void attend_blocks_backward(const Heads& heads, HeadRange range, const AttendGradient<T>& of,
                            const ChosenBlocks<const T>& chosen,
                            std::span<const KeyBlock<T>> gradients, T* scratch, Tile<T> dq) {
    const int64_t l = chosen.l, n_choice = chosen.n_choice, n_query = of.q.shape[1];
    const auto count = static_cast<size_t>(n_choice);
    for (int64_t h = range.first; h < range.end; ++h) {
        for (int64_t first = 0; first < n_query; first += chosen.g) {
            const KeyBlock<const T>* blocks = chosen.of(heads, first / chosen.g, h);
            group_backward(heads, h, first, std::min(n_query, first + chosen.g), of,
                           {blocks, count}, l, scratch, dq);
            if (gradients.empty()) continue;
            const KeyBlock<T>* to = gradients.data() + (blocks - chosen.blocks.data());
            for (int64_t j = 0; j < n_choice * l; ++j) {
                const KeyBlock<T>& block = to[j / l];
                for (int64_t c = 0; c < heads.n_key_dim; ++c)
                    block.k[c * block.row + j % l] += scratch[c * n_choice * l + j];
                for (int64_t c = 0; c < heads.n_value_dim; ++c)
                    block.v[c * block.row + j % l] +=
                        scratch[(heads.n_key_dim + c) * n_choice * l + j];
            }
        }
    }
}

template void attend_blocks(const Heads&, Tile<const float>, const ChosenBlocks<const float>&,
                            float*, Tile<float>, Tile<float>);
template void attend_blocks(const Heads&, Tile<const double>, const ChosenBlocks<const double>&,
                            double*, Tile<double>, Tile<double>);
template void attend_blocks_backward(const Heads&, HeadRange, const AttendGradient<float>&,
                                     const ChosenBlocks<const float>&,
                                     std::span<const KeyBlock<float>>, float*, Tile<float>);
template void attend_blocks_backward(const Heads&, HeadRange, const AttendGradient<double>&,
                                     const ChosenBlocks<const double>&,
                                     std::span<const KeyBlock<double>>, double*, Tile<double>);

}  // namespace surrogate::kernels::bsa::ref
