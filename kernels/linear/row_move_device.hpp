// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/columns.hpp"
#include "kernels/device/fragments.hpp"

/// Copies of rows of a stream (linear_device.hpp) for exchanges between ranks. All pointers are
/// device memory that the caller owns. Passes do not allocate and are enqueued.
namespace surrogate::kernels {

/// Arguments of the copy of channels first .. first + n_channel - 1 of the stream to rows of
/// n_channel contiguous numbers, or back. If the run has failed, NaN is sent; a rank that receives
/// NaN reports that the run is not finite.
struct MoveArgs {
    bool gives = true;  ///< copies from the stream to memory
    int64_t n_row = 0;
    /// With `gives`: row of the stream for each row of the memory. Otherwise: row of the memory for
    /// each row of the stream, beginning with begin_row; rows of the stream after them, up to a
    /// whole tile, become zeros. Null: in order.
    const int32_t* rows = nullptr;
    int64_t begin_row = 0;  ///< used without `gives`
    float* stream = nullptr;
    int64_t width = 0;
    int32_t first = 0, n_channel = 0;
    float* memory = nullptr;
    DeviceFindings* findings = nullptr;
};

}  // namespace surrogate::kernels
