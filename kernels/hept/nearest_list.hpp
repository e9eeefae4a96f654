// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>

#include "kernels/hept/nearest.hpp"

namespace surrogate::kernels::hept {

/// Points that a block of queries processes together: 256 x 12 floats stay in L1.
constexpr int64_t block_points = 256;
/// Queries that share a block of points.
constexpr int64_t block_queries = 64;

/// The nearest points so far of one query, nearest first.
template <class T>
struct NearestList {
    int64_t k = 0;
    T distance[most_neighbors];
    int32_t point[most_neighbors];

    NearestList() = default;
    explicit NearestList(int64_t n) : k(n) {
        std::fill(distance, distance + k, std::numeric_limits<T>::infinity());
        std::fill(point, point + k, -1);
    }
    /// Inserts a point if it is near enough. Points are offered in ascending order: a point at the
    /// same distance is inserted after the earlier one.
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

// Offers points first .. first + n - 1, n <= block_points, to at most block_queries queries. The
// points are contiguous: channel c of point first + j is at x[c * block_points + j], with zeros up
// to a multiple of lane_count.
namespace ref {
template <class T>
void offer_block(View<const T, 2> e, std::span<const int32_t> queries, const T* x, int64_t first,
                 int64_t n, NearestList<T>* best);
}  // namespace ref
namespace simd {
void offer_block(VectorLevel level, View<const float, 2> e, std::span<const int32_t> queries,
                 const float* x, int64_t first, int64_t n, NearestList<float>* best);
}  // namespace simd

}  // namespace surrogate::kernels::hept
