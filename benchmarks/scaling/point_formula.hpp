// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "surrogate/surrogate.hpp"

namespace surrogate::bench {

/// Returns a number in 0 .. 1 for each seed. Source: the finalizer of splitmix64 (Steele et al.,
/// 2014).
inline double uniform(uint64_t seed) {
    uint64_t z = seed * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/// Rows of a rank's part of n points.
struct Share {
    int64_t first, n;
};
inline Share share_of(const Context& context, int64_t n) {
    const int64_t rank = context.rank(), size = context.size();
    const int64_t first = rank * (n / size) + std::min(rank, n % size);
    return {first, n / size + (rank < n % size ? 1 : 0)};
}

/// Returns the ids of a rank's part of n points.
inline std::vector<int64_t> global_ids(const Context& context, int64_t n) {
    const Share share = share_of(context, n);
    std::vector<int64_t> ids(static_cast<size_t>(share.n));
    std::iota(ids.begin(), ids.end(), share.first);
    return ids;
}

}  // namespace surrogate::bench
