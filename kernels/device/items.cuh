// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/device/cuda.cuh"
#include "kernels/device/fragments.hpp"

/// Helpers of passes that are bound by memory, in which threads share any number of items.
namespace surrogate::kernels::cuda {

constexpr int item_threads = 256;  ///< per block

inline unsigned item_blocks(int64_t n_item) {
    constexpr int64_t most_blocks = 65535;
    return static_cast<unsigned>(std::min((n_item + item_threads - 1) / item_threads, most_blocks));
}

/// Returns a thread's first item; its items are first_item(), first_item() + item_step(), ..
__device__ inline int64_t first_item() {
    return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t item_step() {
    return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

/// Row and channel of an element of a stream, in the order of memory (fragment_index).
struct StreamPlace {
    int64_t row;
    int channel;
};
__device__ inline StreamPlace stream_place(int64_t index, int64_t width) {
    const int64_t piece = index / 128, n_group = width / 8;
    const int lane = static_cast<int>(index / 4 % 32), slot = static_cast<int>(index % 4);
    return {piece / n_group * tile_rows + lane / 4 + slot / 2 * 8,
            static_cast<int>(piece % n_group) * 8 + lane % 4 * 2 + slot % 2};
}

}  // namespace surrogate::kernels::cuda
