// SPDX-License-Identifier: Apache-2.0
#include "kernels/hept/nearest.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/base/buffer.hpp"
#include "kernels/base/error.hpp"

namespace surrogate::kernels::hept {
namespace {

/// Points that a block of queries passes over together: 256 x 12 floats stay in L1.
constexpr int64_t block_points = 256;
/// Queries that share the transposed block.
constexpr int64_t block_queries = 64;

/// The best so far of one query, nearest first.
template <class T>
struct Nearest {
    int64_t k = 0;
    T distance[most_neighbors];
    int32_t point[most_neighbors];

    Nearest() = default;
    explicit Nearest(int64_t n) : k(n) {
        std::fill(distance, distance + k, std::numeric_limits<T>::infinity());
        std::fill(point, point + k, -1);
    }
    /// Points come in ascending order: one at the same distance goes behind.
    void offer(T square, int32_t candidate) {
        if (!(square < distance[k - 1])) return;
        int64_t at = k - 1;
        for (; at > 0 && square < distance[at - 1]; --at) {
            distance[at] = distance[at - 1];
            point[at] = point[at - 1];
        }
        distance[at] = square;
        point[at] = candidate;
    }
};

/// square[j] = |e(query) - x_j|^2 of n points that lie side by side, channel c at x[c * block_points].
template <class T>
void squares(View<const T, 2> e, int64_t query, const T* x, int64_t n, T* square) {
    std::fill(square, square + n, T(0));
    for (int64_t c = 0; c < e.shape[1]; ++c) {
        const T own = e(query, c);
        const T* other = x + c * block_points;
        for (int64_t j = 0; j < n; ++j) square[j] += (own - other[j]) * (own - other[j]);
    }
}

/// At most block_queries queries against all points. x: block_points m elements.
template <class T>
void search(View<const T, 2> e, std::span<const int32_t> queries, T* x, Nearest<T>* best) {
    T square[block_points];
    for (int64_t first = 0; first < e.shape[0]; first += block_points) {
        const int64_t n = std::min(block_points, e.shape[0] - first);
        for (int64_t c = 0; c < e.shape[1]; ++c) {
            for (int64_t j = 0; j < n; ++j) x[c * block_points + j] = e(first + j, c);
        }
        for (size_t q = 0; q < queries.size(); ++q) {
            squares(e, queries[q], x, n, square);
            for (int64_t j = 0; j < n; ++j)
                best[q].offer(square[j], static_cast<int32_t>(first + j));
        }
    }
}

}  // namespace

template <class T>
void nearest_points(const Queue& queue, View<const T, 2> e, std::span<const int32_t> queries,
                    int64_t k, std::span<int32_t> nearest) {
    const auto n_query = static_cast<int64_t>(queries.size());
    if (k < 1 || k > most_neighbors || static_cast<int64_t>(nearest.size()) != n_query * k)
        throw Error(Status::shape, "search for " + std::to_string(k) + " neighbors of " +
                                       std::to_string(n_query) + " points with room for " +
                                       std::to_string(nearest.size()) +
                                       " of them; 1 to 64 neighbors are possible");
    if (e.shape[0] > INT32_MAX)
        throw Error(Status::limit, "search for neighbors among " + std::to_string(e.shape[0]) +
                                       " points: at most 2^31 - 1 are possible");
    const int64_t n_scratch = block_points * e.shape[1];
    Buffer<T> scratch(queue.n_thread() * n_scratch);
    Buffer<Nearest<T>> lists(queue.n_thread() * block_queries);
    queue.parallel_for((n_query + block_queries - 1) / block_queries, [&](int64_t item,
                                                                          int thread) {
        const int64_t first = item * block_queries, n = std::min(block_queries, n_query - first);
        Nearest<T>* best = lists.data() + thread * block_queries;
        std::fill(best, best + n, Nearest<T>(k));
        search(e, queries.subspan(static_cast<size_t>(first), static_cast<size_t>(n)),
               scratch.data() + thread * n_scratch, best);
        for (int64_t q = 0; q < n; ++q)
            std::copy(best[q].point, best[q].point + k, nearest.data() + (first + q) * k);
    });
}

template void nearest_points(const Queue&, View<const float, 2>, std::span<const int32_t>, int64_t,
                             std::span<int32_t>);
template void nearest_points(const Queue&, View<const double, 2>, std::span<const int32_t>, int64_t,
                             std::span<int32_t>);

}  // namespace surrogate::kernels::hept
