// SPDX-License-Identifier: Apache-2.0
#include "kernels/device/channels.hpp"

#include <algorithm>

namespace surrogate::kernels {

void pack_channels(const DeviceChannels& channels, const float* from, bool is_per_head, float* to) {
    std::fill_n(to, channels.width, 0.0F);
    if (!from) return;
    for (int64_t c = 0; c < channels.n_channel; ++c)
        to[channels.position(c)] = from[is_per_head ? c % channels.n_dim : c];
}

}  // namespace surrogate::kernels
