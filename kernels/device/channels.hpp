// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace surrogate::kernels {

/// Where a device puts the channels of a model among `width`: heads of n_dim channels get
/// n_dim_padded each (4, or a power of two from 8); padded channels are zero everywhere.
struct DeviceChannels {
    int64_t n_channel = 0;
    int64_t n_dim = 0, n_dim_padded = 0;  ///< of a head
    int64_t width = 0;

    constexpr int64_t position(int64_t channel) const {
        return channel / n_dim * n_dim_padded + channel % n_dim;
    }
};

/// A vector over the model's channels to (width) floats; null stays all zero. is_per_head: n_dim
/// values repeated for every head.
void pack_channels(const DeviceChannels& channels, const float* from, bool is_per_head, float* to);

}  // namespace surrogate::kernels
