// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/base/buffer.hpp"
#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl {

/// Copies some points to the columns of a tile in `buffer`, whose padding becomes zero, and back.
template <class T>
kernels::Tile<T> load(const kernels::Tiles<const T>& from, Range points,
                      kernels::Buffer<T>& buffer) {
    const kernels::Tile<T> to{
        buffer.data(), {from.n_channel, points.size()}, {kernels::tile_points, 1}};
    for (int64_t i = 0; i < points.size(); ++i) {
        const T* const column = from.column(points.begin + i);
        for (int64_t c = 0; c < from.n_channel; ++c) to(c, i) = column[c * from.row];
    }
    const int64_t end = kernels::round_up(points.size(), kernels::lane_count);
    for (int64_t c = 0; c < from.n_channel; ++c)
        std::fill(&to(c, 0) + points.size(), &to(c, 0) + end, T(0));
    return to;
}
template <class T>
void store(kernels::Tile<const T> from, Range points, const kernels::Tiles<T>& to) {
    for (int64_t i = 0; i < points.size(); ++i) {
        T* const column = to.column(points.begin + i);
        for (int64_t c = 0; c < to.n_channel; ++c) column[c * to.row] = from(c, i);
    }
}

}  // namespace surrogate::impl
