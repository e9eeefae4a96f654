// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace surrogate::kernels {

/// A strided array that somebody else owns. Passed by value; `View<const T, R>` is input.
/// Element (i, j, ..) lies at data[i * stride[0] + j * stride[1] + ..]; strides count elements.
template <class T, int Rank>
struct View {
    T* data = nullptr;
    std::array<int64_t, Rank> shape{};
    std::array<int64_t, Rank> stride{};

    template <class... Index>
    T& operator()(Index... index) const {
        static_assert(sizeof...(Index) == Rank);
        int64_t offset = 0;
        int axis = 0;
        ((offset += static_cast<int64_t>(index) * stride[axis++]), ...);
        return data[offset];
    }

    operator View<const T, Rank>() const requires(!std::is_const_v<T>) {
        return {data, shape, stride};
    }
};

/// A contiguous row-major view.
template <class T, class... Extent>
View<T, sizeof...(Extent)> make_view(T* data, Extent... extent) {
    constexpr int rank = sizeof...(Extent);
    View<T, rank> view{data, {static_cast<int64_t>(extent)...}, {}};
    int64_t step = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
        view.stride[axis] = step;
        step *= view.shape[axis];
    }
    return view;
}

/// Vector kernels work on groups of this many points (or latents), whatever the width of the
/// machine: AVX-512 takes one register a group, AVX2 two. Rows of tiles are padded to a multiple of
/// it.
constexpr int64_t lane_count = 16;

/// Points that pass through all layers of a sweep together. 64 points x 64 channels x 4 bytes = 16
/// KiB a buffer: the half dozen buffers of a sweep stay in a 512 KiB second-level cache beside the
/// weights of one block.
constexpr int64_t tile_points = 64;

constexpr int64_t round_up(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/// A tile: some points, channel-major, so that vector lanes run along points.
///   shape  (n_channel, n_point), stride (row, 1)
/// Contract of all kernels on tiles: `row` is a multiple of lane_count and at least
/// round_up(n_point, lane_count). The padding up to that multiple belongs to the tile: it may be
/// read and written, and never changes the first n_point columns. It must hold finite numbers if
/// floating-point traps are on. No alignment is required.
template <class T>
using Tile = View<T, 2>;

/// Rows [first, first + count) of a tile: some of its channels.
template <class T>
Tile<T> channels(Tile<T> tile, int64_t first, int64_t count) {
    return {tile.data + first * tile.stride[0], {count, tile.shape[1]}, tile.stride};
}

/// Points [first, first + count) of a tile; first is a multiple of lane_count.
template <class T>
Tile<T> points(Tile<T> tile, int64_t first, int64_t count) {
    return {tile.data + first, {tile.shape[0], count}, tile.stride};
}

}  // namespace surrogate::kernels
