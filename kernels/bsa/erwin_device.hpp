// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/norm/norm_device.hpp"

/// Passes of Erwin's U-net on a device, besides its layers: messages along edges, and the
/// transitions between levels. Streams are as in bsa_device.hpp; the result of a row depends only
/// on the rows that are named. All pointers are device memory that the caller owns.
namespace surrogate::kernels::bsa {

constexpr int64_t largest_message = 256;  ///< channels of a message

/// Arguments of the pass that averages the messages to each target, in the order of its edges. The
/// message of an edge from j to i is
///   norm(gelu(a_j + b_i + W (p_j - p_i) + bias))
/// Targets without edges get zeros.
struct MessageArgs {
    int64_t n_target = 0, n_axis = 0;
    int32_t n_channel = 0;             ///< at most largest_message
    int64_t width = 0;                 ///< channels of a, of b and of the means
    const int64_t* first = nullptr;    ///< (n_target + 1) first edge of each target
    const int32_t* source = nullptr;   ///< (n_edge) row
    const float* parts = nullptr;      ///< stream (2 width): a, then b
    const float* positions = nullptr;  ///< (row, n_axis)
    const float* weight = nullptr;     ///< (width, n_axis)
    const float* bias = nullptr;       ///< (width)
    DeviceNorm norm;                   ///< with mean and bias
    float* to = nullptr;               ///< stream (2 width): the means are its second half
};

/// Arguments of the pass that adds norm(y) to the first half of a stream of 2 width channels.
struct UpdateArgs {
    int64_t n_row = 0, width = 0;
    int32_t n_channel = 0;  ///< at most largest_message
    const float* y = nullptr;
    DeviceNorm norm;  ///< with mean and bias
    float* to = nullptr;
};

/// Arguments of the pass that joins rows. Each target row gets n_each source rows side by side,
/// with n_channel channels each, then n_relative numbers, then zeros. Rows up to a whole tile
/// become zeros.
struct JoinArgs {
    int64_t n_row = 0, n_each = 1, n_channel = 0, n_relative = 0;
    const float* from = nullptr;  ///< stream
    int64_t from_width = 0;
    const int64_t* rows = nullptr;    ///< (n_row) row of `from`, or ~row; null: n_each * i ..
    const float* relative = nullptr;  ///< (n_row, n_relative)
    float* to = nullptr;              ///< stream
    int64_t width = 0;
};

/// Arguments of the pass that spreads parents to children. Child i of a parent becomes x = scale x
/// + z(parent, i n_channel ..); n_each children follow each other.
struct SpreadArgs {
    int64_t n_row = 0, n_each = 1, n_channel = 0;  ///< rows: children
    const float* scale = nullptr;                  ///< (n_channel)
    const float* z = nullptr;                      ///< stream
    int64_t z_width = 0;
    float* x = nullptr;  ///< stream
    int64_t width = 0;
};

}  // namespace surrogate::kernels::bsa
