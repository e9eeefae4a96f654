// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace surrogate::impl {

/// Returns true for the counters of PyTorch's batch norms: integers among the weights, which no
/// network reads.
inline bool is_counter(std::string_view tensor) {
    return tensor.ends_with(".num_batches_tracked");
}

}  // namespace surrogate::impl
