// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace surrogate::kernels {

/// A strided array in memory that the caller owns. It is passed by value; `View<const T, R>` is
/// input. Element (i, j, ..) is at data[i * stride[0] + j * stride[1] + ..]; strides count
/// elements.
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

/// Returns a contiguous row-major view.
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

/// Number of points (or latents) in a group of vector kernels, at every vector width: AVX-512 uses
/// one register per group, AVX2 uses two. Rows of tiles are padded to a multiple of it.
constexpr int64_t lane_count = 16;

/// Number of points that pass through all layers of a fused pass together. 64 points x 64 channels
/// x 4 bytes = 16 KiB per buffer: the half dozen buffers of a pass fit a 512 KiB second-level cache
/// beside the weights of one block.
constexpr int64_t tile_points = 64;

constexpr int64_t round_up(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/// A tile of points in channel-major order, so that vector lanes run along points.
///   shape  (n_channel, n_point), stride (row, 1)
/// Contract of all kernels on tiles: `row` is a multiple of lane_count and at least
/// round_up(n_point, lane_count). The padding up to that multiple belongs to the tile: kernels may
/// read and write it, and its contents never change the first n_point columns. It must hold finite
/// numbers if floating-point traps are on. No alignment is required.
template <class T>
using Tile = View<T, 2>;

/// Returns rows [first, first + count) of a tile, a range of its channels.
template <class T>
Tile<T> channels(Tile<T> tile, int64_t first, int64_t count) {
    return {tile.data + first * tile.stride[0], {count, tile.shape[1]}, tile.stride};
}

/// Returns points [first, first + count) of a tile; first is a multiple of lane_count.
template <class T>
Tile<T> points(Tile<T> tile, int64_t first, int64_t count) {
    return {tile.data + first, {tile.shape[0], count}, tile.stride};
}

}  // namespace surrogate::kernels
