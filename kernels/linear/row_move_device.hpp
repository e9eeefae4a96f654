// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/columns.hpp"
#include "kernels/device/fragments.hpp"

/// Rows of a stream (linear_device.hpp) on their way between ranks: what is computed, and its
/// shapes. All pointers are device memory that the caller owns; passes allocate nothing and are
/// enqueued.
namespace surrogate::kernels {

/// From channels first .. first + n_channel - 1 of the stream to rows of n_channel numbers side by
/// side, or back. Where the run has failed NaN is given; who takes NaN finds that the run is not
/// finite.
struct MoveArgs {
    bool gives = true;  ///< from the stream
    int64_t n_row = 0;
    /// Gives: row of the stream for each of the memory. Takes: row of the memory for each of the
    /// stream, beginning with begin_row, whose rows up to a whole tile become zeros. Null: in
    /// order.
    const int32_t* rows = nullptr;
    int64_t begin_row = 0;  ///< takes
    float* stream = nullptr;
    int64_t width = 0;
    int32_t first = 0, n_channel = 0;
    float* memory = nullptr;
    DeviceFindings* findings = nullptr;
};

}  // namespace surrogate::kernels
