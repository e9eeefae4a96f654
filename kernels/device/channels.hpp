// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace surrogate::kernels {

/// Layout of the channels of a model among `width` channels on a device: heads of n_dim channels
/// are stored in n_dim_padded channels each (4, or a power of two from 8). Padded channels are
/// always zero.
struct DeviceChannels {
    int64_t n_channel = 0;
    int64_t n_dim = 0, n_dim_padded = 0;  ///< per head
    int64_t width = 0;

    constexpr int64_t position(int64_t channel) const {
        return channel / n_dim * n_dim_padded + channel % n_dim;
    }
};

/// Returns the layout of n channels from 0 on. The width is a multiple of 16, as wide layers
/// require (linear_device.hpp).
constexpr DeviceChannels plain_channels(int64_t n) {
    const int64_t width = (n + 15) / 16 * 16;
    return {n, n, width, width};
}
/// Returns the layout of heads of n_dim channels, each padded to whole groups of 8. The width is a
/// multiple of 16.
constexpr DeviceChannels head_channels(int64_t n_head, int64_t n_dim) {
    const int64_t padded = (n_dim + 7) / 8 * 8;
    return {n_head * n_dim, n_dim, padded, (n_head * padded + 15) / 16 * 16};
}

/// Copies a vector over the model's channels to (width) floats; null gives zeros. is_per_head:
/// n_dim values are repeated for every head.
void pack_channels(const DeviceChannels& channels, const float* from, bool is_per_head, float* to);

}  // namespace surrogate::kernels
