// SPDX-License-Identifier: Apache-2.0
#include "kernels/losses/pair_loss.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels::losses {
namespace {

/// Number of slices of rows with nearly equal numbers of pairs, which are distributed over threads.
/// Results belong to rows and do not depend on the number of slices.
constexpr int64_t n_slice = 256;

int64_t slice_begin(const PairRows& pairs, int64_t slice) {
    if (slice == n_slice) return pairs.n_row;
    const int64_t n_before = pairs.n_pair() / n_slice * slice;
    return std::lower_bound(pairs.offset, pairs.offset + pairs.n_row, n_before) - pairs.offset;
}

RowRange slice_rows(const PairRows& pairs, int64_t slice) {
    return {slice_begin(pairs, slice), slice_begin(pairs, slice + 1)};
}

template <class T>
void check(const Similarity& similarity, const Embedding<T>& e, const PairRows& pairs) {
    if (!(similarity.tau > 0) || !(similarity.sigma > 0))
        throw Error(Status::invalid_argument,
                    "pair loss with tau = " + std::to_string(similarity.tau) + " and sigma = " +
                        std::to_string(similarity.sigma) + "; expected positive numbers");
    const int64_t row = round_up(std::max<int64_t>(e.shape[1], 1), lane_count);
    if (e.stride[0] % lane_count != 0 || e.stride[0] < row || e.stride[1] != 1)
        throw Error(Status::shape, "pair loss: embeddings of " + std::to_string(e.shape[1]) +
                                       " channels have rows of " + std::to_string(e.stride[0]) +
                                       "; expected a multiple of 16 that is at least " +
                                       std::to_string(row));
    if (e.shape[1] > most_channels)
        throw Error(Status::not_supported, "pair loss: embeddings have " +
                                               std::to_string(e.shape[1]) +
                                               " channels, expected at most 256");
    if (e.shape[0] < pairs.n_row)
        throw Error(Status::shape, "pair loss: " + std::to_string(pairs.n_row) +
                                       " points have pairs, but embeddings exist for " +
                                       std::to_string(e.shape[0]));
}

}  // namespace

double similarity_bound(const Similarity& similarity) {
    return 1 / similarity.tau;
}

bool bound_suffices(const Similarity& similarity) {
    const double least = similarity.likeness == Likeness::cosine ? -1 : 0;
    return (least - 1) / similarity.tau >= least_exponent;
}

template <class T>
T largest_similarity(const Queue& queue, const Similarity& similarity, Embedding<const T> e,
                     const PairRows& pairs) {
    check(similarity, e, pairs);
    const bool is_simd = uses_simd<T>(queue, "largest_similarity");
    std::array<T, n_slice> largest;
    queue.parallel_for(n_slice, [&](int64_t slice, int) {
        const RowRange range = slice_rows(pairs, slice);
        if (!is_simd) {
            largest[static_cast<size_t>(slice)] =
                ref::largest_similarity(similarity, e, pairs, range);
        } else if constexpr (std::is_same_v<T, float>) {
            largest[static_cast<size_t>(slice)] =
                simd::largest_similarity(queue.level(), similarity, e, pairs, range);
        }
    });
    return *std::max_element(largest.begin(), largest.end());
}

template <class T>
void pair_sums(const Queue& queue, const Similarity& similarity, Embedding<const T> e,
               const PairRows& pairs, T m, const PairSums<T>& sums, double* loss) {
    check(similarity, e, pairs);
    const bool is_simd = uses_simd<T>(queue, "pair_sums");
    queue.parallel_for(n_slice, [&](int64_t slice, int) {
        const RowRange range = slice_rows(pairs, slice);
        if (!is_simd) return ref::pair_sums(similarity, e, pairs, range, m, sums, loss);
        if constexpr (std::is_same_v<T, float>)
            simd::pair_sums(queue.level(), similarity, e, pairs, range, m, sums, loss);
    });
}

template <class T>
void pair_gradient(const Queue& queue, const Similarity& similarity, Embedding<const T> e,
                   const PairRows& pairs, PairSide side, T m, const PairSums<const T>& sums,
                   Embedding<T> de) {
    check(similarity, e, pairs);
    check(similarity, de, pairs);
    const bool is_simd = uses_simd<T>(queue, "pair_gradient");
    queue.parallel_for(n_slice, [&](int64_t slice, int) {
        const RowRange range = slice_rows(pairs, slice);
        if (!is_simd) return ref::pair_gradient(similarity, e, pairs, range, side, m, sums, de);
        if constexpr (std::is_same_v<T, float>)
            simd::pair_gradient(queue.level(), similarity, e, pairs, range, side, m, sums, de);
    });
}

double sum_in_order(const double* loss, int64_t n_row) {
    double sum = 0;
    for (int64_t u = 0; u < n_row; ++u) sum += loss[u];
    return sum;
}

#define SURROGATE_PAIR_LOSS(T)                                                                    \
    template T largest_similarity(const Queue&, const Similarity&, Embedding<const T>,            \
                                  const PairRows&);                                               \
    template void pair_sums(const Queue&, const Similarity&, Embedding<const T>, const PairRows&, \
                            T, const PairSums<T>&, double*);                                      \
    template void pair_gradient(const Queue&, const Similarity&, Embedding<const T>,              \
                                const PairRows&, PairSide, T, const PairSums<const T>&,           \
                                Embedding<T>)
SURROGATE_PAIR_LOSS(float);
SURROGATE_PAIR_LOSS(double);

}  // namespace surrogate::kernels::losses
