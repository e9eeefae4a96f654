// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/losses/pair_loss.hpp"

namespace surrogate::kernels::losses::ref {
namespace {

/// Computes t of a pair, and `slope` with dt / de_u = slope (e_u - e_v), or slope e_v for the
/// cosine.
template <class T>
struct Term {
    T t, slope;
};

template <class T>
Term<T> term(const Similarity& similarity, Embedding<const T> e, int64_t u, int64_t v) {
    const T tau = static_cast<T>(similarity.tau);
    const T width = static_cast<T>(2 * similarity.sigma * similarity.sigma);
    T square = 0, product = 0;
    for (int64_t c = 0; c < e.shape[1]; ++c) {
        const T difference = e(u, c) - e(v, c);
        square += difference * difference;
        product += e(u, c) * e(v, c);
    }
    const T r = std::sqrt(square), divisor = std::max(T(0x1p-60), r);
    switch (similarity.likeness) {
        case Likeness::l2_rbf: {
            const T t = std::exp(-r / width) / tau;
            return {t, -t / width / divisor};
        }
        case Likeness::l2_inverse: {
            const T t = 1 / (1 + r) / tau;
            return {t, -t / (1 + r) / divisor};
        }
        case Likeness::cosine: return {product / tau, 1 / tau};
    }
    return {};
}

/// Returns the maximum. A NaN stays: the order of the operands of max is intentional.
template <class T>
T exponential(T t, T m) {
    return std::exp(std::max(t - m, static_cast<T>(least_exponent)));
}

}  // namespace

template <class T>
T largest_similarity(const Similarity& similarity, Embedding<const T> e, const PairRows& pairs,
                     RowRange range) {
    T largest = -std::numeric_limits<T>::infinity();
    for (int64_t u = range.first; u < range.end; ++u) {
        for (int64_t k = pairs.offset[u]; k < pairs.offset[u + 1]; ++k)
            largest = std::max(largest, term(similarity, e, u, pairs.point[k]).t);
    }
    return largest;
}

template <class T>
void pair_sums(const Similarity& similarity, Embedding<const T> e, const PairRows& pairs,
               RowRange range, T m, const PairSums<T>& sums, double* loss) {
    for (int64_t u = range.first; u < range.end; ++u) {
        const auto x = [&](int64_t k) {
            const T t = term(similarity, e, u, pairs.point[k]).t;
            return static_cast<double>(exponential(t, m));
        };
        double negative = 0;
        for (int64_t k = pairs.offset[u]; k < pairs.positive[u]; ++k) negative += x(k);
        double sum = 0, slope = 0;
        for (int64_t k = pairs.positive[u]; k < pairs.offset[u + 1]; ++k) {
            sum += std::log1p(negative / x(k));
            slope += 1 / (x(k) + negative);
        }
        const auto weight = static_cast<double>(sums.weight[u]);
        sums.negative[u] = static_cast<T>(negative);
        sums.slope[u] = static_cast<T>(weight * slope);
        loss[u] = weight * sum;
    }
}

template <class T>
void pair_gradient(const Similarity& similarity, Embedding<const T> e, const PairRows& pairs,
                   RowRange range, PairSide side, T m, const PairSums<const T>& sums,
                   Embedding<T> de) {
    /// G, with `first` the first point of the pair.
    const auto g = [&](T x, bool is_positive, int64_t first) {
        if (!is_positive) return x * sums.slope[first];
        return -sums.weight[first] * sums.negative[first] / (x + sums.negative[first]);
    };
    double sum[most_channels];
    for (int64_t p = range.first; p < range.end; ++p) {
        std::fill(sum, sum + e.shape[1], 0.0);
        for (int64_t k = pairs.offset[p]; k < pairs.offset[p + 1]; ++k) {
            const int64_t v = pairs.point[k];
            const Term<T> pair = term(similarity, e, p, v);
            const T x = exponential(pair.t, m);
            T both = 0;
            if (side != PairSide::second) both += g(x, k >= pairs.positive[p], p);
            if (side != PairSide::first) both += g(x, k >= pairs.positive[p], v);
            for (int64_t c = 0; c < e.shape[1]; ++c) {
                const T part =
                    similarity.likeness == Likeness::cosine ? e(v, c) : e(p, c) - e(v, c);
                sum[c] += static_cast<double>(both * pair.slope * part);
            }
        }
        for (int64_t c = 0; c < e.shape[1]; ++c)
            de(p, c) = static_cast<T>(static_cast<double>(de(p, c)) + sum[c]);
    }
}

#define SURROGATE_PAIR_LOSS_REF(T)                                                                \
    template T largest_similarity(const Similarity&, Embedding<const T>, const PairRows&,         \
                                  RowRange);                                                      \
    template void pair_sums(const Similarity&, Embedding<const T>, const PairRows&, RowRange, T,  \
                            const PairSums<T>&, double*);                                         \
    template void pair_gradient(const Similarity&, Embedding<const T>, const PairRows&, RowRange, \
                                PairSide, T, const PairSums<const T>&, Embedding<T>)
SURROGATE_PAIR_LOSS_REF(float);
SURROGATE_PAIR_LOSS_REF(double);

}  // namespace surrogate::kernels::losses::ref
