// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>

#include "kernels/hept/nearest.hpp"

namespace surrogate::kernels::hept {

/// Points that a block of queries passes over together: 256 x 12 floats stay in L1.
constexpr int64_t block_points = 256;
/// Queries that share a block of points.
constexpr int64_t block_queries = 64;

/// The best so far of one query, nearest first.
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

// At most block_queries queries against points first .. first + n - 1, n <= block_points, which lie
// side by side: channel c of point first + j at x[c * block_points + j]; zeros up to a multiple of
// lane_count.
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
