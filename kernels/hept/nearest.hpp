// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"

namespace surrogate::kernels::hept {

/// Largest number of neighbors of a search.
constexpr int64_t most_neighbors = 64;

/// Finds the k points that are nearest to each query, nearest first, among all rows of e; the query
/// itself is one of them. Points are ordered by squared distance, summed over channels in order in
/// T (simd: fused), and by ascending index at equal distance.
///   e         (n_point, m), stride (any, 1); all finite; for the order by cosines: unit vectors
///   queries   rows of e
///   nearest   (n_query, k), k = 1 .. most_neighbors; -1 where there are fewer points than k
/// Every pair is evaluated: n_query n_point m steps. The result is the same on every SIMD
/// instruction set and for any number of threads. Allocates 256 m elements and 32 KiB per thread.
/// Throws shape, limit from 2^31 points on, and the errors of uses_simd().
template <class T>
void nearest_points(const Queue& queue, View<const T, 2> e, std::span<const int32_t> queries,
                    int64_t k, std::span<int32_t> nearest);

}  // namespace surrogate::kernels::hept
