// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/pinned_columns.hpp"

#include <algorithm>

namespace surrogate::impl::flare {

PinnedColumns::PinnedColumns(kernels::Device& device, const kernels::Queue& queue, int64_t n_point,
                             int64_t n_column, Layout layout)
    : queue_(queue),
      n_point_(n_point),
      n_column_(n_column),
      row_stride_(layout == Layout::by_point ? n_column : 1),
      column_stride_(layout == Layout::by_point ? 1 : n_point),
      memory_(pinned_memory(device, bytes())),
      bad_(queue.n_thread()) {}

template <class Work>
BadValue PinnedColumns::for_tiles(const Work& work) {
    constexpr int64_t tile_points = kernels::tile_points;
    bad_.clear();
    queue_.parallel_for((n_point_ + tile_points - 1) / tile_points, [&](int64_t tile, int thread) {
        const int64_t first = tile * tile_points;
        const int64_t count = std::min(tile_points, n_point_ - first);
        bad_.note(thread, work(thread, first, count, data() + first * row_stride_));
    });
    return bad_.first();
}

BadValue PinnedColumns::gather(std::span<const Column> columns, OutsideCounts& outside) {
    return for_tiles([&](int thread, int64_t first, int64_t count, float* to) {
        return impl::gather<float>(columns, first, count, to, row_stride_, column_stride_,
                                   outside.of(thread));
    });
}

BadValue PinnedColumns::scatter(std::span<const Column> columns, bool alive) {
    if (!alive) {
        fill_nan(columns, n_point_);
        return {};
    }
    return for_tiles([&](int, int64_t first, int64_t count, const float* from) {
        return impl::scatter<float>(from, row_stride_, column_stride_, columns, first, count);
    });
}

}  // namespace surrogate::impl::flare
