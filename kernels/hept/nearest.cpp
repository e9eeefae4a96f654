// SPDX-License-Identifier: Apache-2.0
#include "kernels/hept/nearest.hpp"

#include <algorithm>
#include <string>

#include "kernels/base/buffer.hpp"
#include "kernels/base/dispatch.hpp"
#include "kernels/hept/nearest_list.hpp"

namespace surrogate::kernels::hept {
namespace {

template <class T>
void check(View<const T, 2> e, int64_t n_query, int64_t k, int64_t n_room) {
    if (k < 1 || k > most_neighbors || n_room != n_query * k)
        throw Error(Status::shape, "search for " + std::to_string(k) + " neighbors of " +
                                       std::to_string(n_query) + " points with space for " +
                                       std::to_string(n_room) +
                                       " of them; expected 1 to 64 neighbors");
    if (e.stride[1] != 1 && e.shape[1] > 1)
        throw Error(Status::shape, "search for neighbors: channels of a point have stride " +
                                       std::to_string(e.stride[1]) + ", expected 1");
    if (e.shape[0] > INT32_MAX)
        throw Error(Status::limit, "search for neighbors among " + std::to_string(e.shape[0]) +
                                       " points, expected at most 2^31 - 1");
}

/// Copies n points from `first` on, side by side.
template <class T>
void transpose(View<const T, 2> e, int64_t first, int64_t n, T* x) {
    for (int64_t c = 0; c < e.shape[1]; ++c) {
        T* to = x + c * block_points;
        for (int64_t j = 0; j < n; ++j) to[j] = e(first + j, c);
        std::fill(to + n, to + round_up(n, lane_count), T(0));
    }
}

}  // namespace

template <class T>
void nearest_points(const Queue& queue, View<const T, 2> e, std::span<const int32_t> queries,
                    int64_t k, std::span<int32_t> nearest) {
    const auto n_query = static_cast<int64_t>(queries.size());
    check(e, n_query, k, static_cast<int64_t>(nearest.size()));
    const bool is_simd = uses_simd<T>(queue, "nearest_points");
    const int64_t n_scratch = block_points * e.shape[1];
    Buffer<T> scratch(queue.n_thread() * n_scratch);
    Buffer<NearestList<T>> lists(queue.n_thread() * block_queries);
    queue.parallel_for((n_query + block_queries - 1) / block_queries, [&](int64_t item,
                                                                          int thread) {
        const int64_t begin = item * block_queries, n = std::min(block_queries, n_query - begin);
        const auto some = queries.subspan(static_cast<size_t>(begin), static_cast<size_t>(n));
        NearestList<T>* best = lists.data() + thread * block_queries;
        T* x = scratch.data() + thread * n_scratch;
        std::fill(best, best + n, NearestList<T>(k));
        for (int64_t first = 0; first < e.shape[0]; first += block_points) {
            const int64_t n_here = std::min(block_points, e.shape[0] - first);
            transpose(e, first, n_here, x);
            if (!is_simd) {
                ref::offer_block(e, some, x, first, n_here, best);
            } else if constexpr (std::is_same_v<T, float>) {
                simd::offer_block(queue.level(), e, some, x, first, n_here, best);
            }
        }
        for (int64_t q = 0; q < n; ++q)
            std::copy(best[q].point, best[q].point + k, nearest.data() + (begin + q) * k);
    });
}

template void nearest_points(const Queue&, View<const float, 2>, std::span<const int32_t>, int64_t,
                             std::span<int32_t>);
template void nearest_points(const Queue&, View<const double, 2>, std::span<const int32_t>, int64_t,
                             std::span<int32_t>);

}  // namespace surrogate::kernels::hept
