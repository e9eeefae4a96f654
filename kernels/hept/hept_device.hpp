// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/channels.hpp"
#include "kernels/device/columns.hpp"
#include "kernels/device/device.hpp"
#include "kernels/device/device_table.hpp"
#include "kernels/device/fragments.hpp"
#include "kernels/device/operand.hpp"
#include "kernels/hept/hept.hpp"
#include "kernels/linear/linear_device.hpp"
#include "kernels/linear/row_move_device.hpp"

/// HEPT on a device. The formulas are in hept.hpp and in the specification; this file gives shapes
/// and layouts. Resources and counts are in hept_cuda.md.
///
/// Tokens are stored in tiles of 16 rows, in the order of the plan: own tokens first, then ghosts,
/// which are tokens of other ranks in blocks that this rank computes. Rows without a token are
/// finite.
///   streams    float (n_tile, width / 8, 32, 4), fragment_index(token, channel, width)
///   operands   (n_tile, n_group, 32) pieces of 16 rows x 8 channels (products.cuh)
/// Each pair of table and head has its own row: row table * H + head, C H rows.
///
/// All pointers are device memory that the caller owns. Kernels do not allocate and are enqueued.
namespace surrogate::kernels::hept {

constexpr int64_t largest_head = 64;     ///< d, channels per head
constexpr int64_t most_coordinates = 8;  ///< D, channels of the stream of coordinates
constexpr int64_t warp_cell = 32;        ///< tokens of a cell that a warp sorts
constexpr int64_t largest_chunk = 4096;  ///< tokens that a block of threads sorts at once

/// Layout of the numbers of a token in a head, each part padded with zeros to a compiled size:
///   row (stride)    [ s x | q | k | v ]
///   sums (n_sum)    [ num | den, and three unused numbers ]
struct DeviceHead {
    int32_t n_channel = 0;         ///< d
    int32_t n_coordinate = 0;      ///< D
    int32_t channel_width = 0;     ///< 8, 16, 24, 32, 48 or 64
    int32_t coordinate_width = 0;  ///< 4 or 8

    constexpr int64_t stride() const { return coordinate_width + 3 * int64_t{channel_width}; }
    constexpr int64_t n_sum() const { return int64_t{channel_width} + 4; }
};

/// Returns the smallest widths for d at most largest_head, D at most most_coordinates.
constexpr DeviceHead device_head(int64_t n_channel, int64_t n_coordinate) {
    const int64_t groups = (n_channel + 7) / 8;
    const int64_t width = groups <= 4 ? 8 * groups : groups <= 6 ? 48 : 64;
    return {static_cast<int32_t>(n_channel), static_cast<int32_t>(n_coordinate),
            static_cast<int32_t>(width), n_coordinate <= 4 ? 4 : 8};
}

/// Arguments of the pass that writes features and coordinates of the own tokens to streams; all
/// other rows and channels are zero. Copies of points follow the points and are not counted in the
/// findings.
///
/// With classes the last feature is a class number; the numbers of the class are stored after the
/// other features. A value that is not a whole number from 0 to n_class - 1 is reported in the
/// findings: as a bad input or, if the columns are not the caller's, as a run that is not finite.
struct BeginArgs {
    int64_t n_point = 0, n_token = 0;
    const int64_t* points = nullptr;        ///< (n_token) point of each token in the columns
    const DeviceColumn* columns = nullptr;  ///< (n_coordinate + n_feature)
    int64_t n_coordinate = 0, n_feature = 0;
    const float* classes = nullptr;  ///< (n_class, class_width); null: none
    int64_t n_class = 0, class_width = 0;
    bool are_callers = true;  ///< the columns belong to the caller
    int64_t width = 0;
    float* features = nullptr;     ///< stream of `width`
    float* coordinates = nullptr;  ///< stream of most_coordinates
    DeviceFindings* findings = nullptr;
    DeviceOutside* outside = nullptr;  ///< (n_coordinate + n_feature)
};

/// Arguments of the pass that computes rows and hashes of all heads of a layer, like augment() in
/// hept.hpp. A square of largest_square or more, or NaN, is reported in the findings.
struct AugmentArgs {
    DeviceHead head;
    int32_t n_head = 0, n_table = 0;
    int64_t n_token = 0;
    /// Stream (n_tile, n_head * 3 * channel_width / 8, ..): q, k, v of each head.
    const float* qkv = nullptr;
    int64_t width = 0;                   ///< of the stream
    const float* coordinates = nullptr;  ///< as in BeginArgs
    const float* scale = nullptr;        ///< s (n_head, D)
    const float* alpha = nullptr;        ///< (n_head, n_table, E), channels first
    float* rows = nullptr;               ///< (n_head, n_token, stride)
    uint32_t* hashes = nullptr;          ///< (2, n_table, n_head, n_token): queries, keys
    DeviceFindings* findings = nullptr;
};

/// Tokens members[begin .. begin + n) of a row, to be sorted to indices to .. to + n - 1 of the
/// row's order, or of keys if they are a part of a cell. If other ranks also need parts of a cell,
/// the whole cell is sorted.
struct DeviceCell {
    int64_t to = 0;
    int32_t row = 0, begin = 0, n = 0;
};

/// A cell larger than largest_chunk. Its parts are sorted first, to keys first .. first + n - 1.
struct DeviceLargeCell {
    DeviceCell cell;
    int64_t first = 0;
};

/// Arguments of the sort of the tokens of all rows: the members of each cell are sorted by (hash,
/// index among the members), for queries and for keys.
struct OrderArgs {
    int64_t n_row = 0, n_token = 0;
    int64_t n_member = 0, n_place = 0;  ///< per row
    const int32_t* members = nullptr;   ///< (n_row, n_member)
    const uint32_t* hashes = nullptr;   ///< (2, n_row, n_token)
    int32_t* orders = nullptr;          ///< (2, n_row, n_place)

    const DeviceCell* small = nullptr;  ///< (n_small) of up to warp_cell tokens
    int64_t n_small = 0;
    const DeviceCell* middle = nullptr;  ///< (n_middle) of up to largest_chunk tokens
    int64_t n_middle = 0, largest_middle = 0;
    const DeviceCell* parts = nullptr;  ///< (n_part) of large cells, each of largest_chunk or less
    int64_t n_part = 0;
    const DeviceLargeCell* large = nullptr;  ///< (n_large)
    int64_t n_large = 0, largest = 0;        ///< largest: number of tokens of the largest cell
    int64_t n_key = 0;                       ///< tokens of all large cells
    uint64_t* keys = nullptr;                ///< (2, 2, n_key): twice queries, keys
};

/// Indices first .. first + n - 1 of every row.
struct DeviceBlock {
    int64_t first = 0;
    int32_t n = 0, n_zero_key = 0;
};

/// Arguments of the sums of all blocks of each table, as attend_block() in hept.hpp computes them:
/// over coordinates first and then over channels, over keys in their order. Tokens that are in no
/// block of a table keep the contents of their row.
struct AttendArgs {
    DeviceHead head;
    int32_t n_head = 0, n_table = 0;
    int64_t n_token = 0, n_place = 0;
    const DeviceBlock* blocks = nullptr;  ///< (n_block)
    int64_t n_block = 0, block_size = 0;
    const float* rows = nullptr;  ///< as in AugmentArgs
    const int32_t* orders = nullptr;
    float* sums = nullptr;  ///< (n_table, n_head, n_token, n_sum)
};

/// The sums of a token and head in a table: row table * H + head.
struct DeviceSum {
    int32_t row = 0, token = 0;

    constexpr bool operator==(const DeviceSum&) const = default;
};
/// Location of another rank's contribution to the sums in memory.
struct DeviceShare {
    DeviceSum sum;
    int32_t from = 0;
};

/// Arguments of the exchange of sums between ranks, num and den as d + 1 contiguous numbers.
/// Exactly one of the candidate ranks of a token in a table computes its sums; the others have
/// zeros. Sums therefore do not depend on the order of ranks. NaN as in MoveArgs.
struct ShareArgs {
    enum class Step {
        clear,  ///< sets the sums of `given` and `taken` to zero
        give,   ///< copies the sums of `given` to memory
        take,   ///< adds the contents of memory to the sums of `taken`
    };
    Step step = Step::clear;
    DeviceHead head;
    int64_t n_token = 0;
    float* sums = nullptr;             ///< as in AttendArgs
    const DeviceSum* given = nullptr;  ///< (n_given)
    int64_t n_given = 0;
    const DeviceShare* taken = nullptr;  ///< (n_taken), equal sums side by side
    int64_t n_taken = 0;
    float* memory = nullptr;  ///< (n_given, d + 1), or (n_taken, d + 1)
    DeviceFindings* findings = nullptr;
};

/// Arguments of num / den of all heads, tables added in their order, written to operands (n_tile,
/// n_group, 32) with channel_width / 8 groups per head. Further groups and rows without an own
/// token become zero.
struct CombineArgs {
    DeviceHead head;
    int32_t n_head = 0, n_table = 0;
    int64_t n_token = 0, n_own = 0;
    const float* sums = nullptr;  ///< as in AttendArgs
    Operand operand = Operand::fp32;
    void* to = nullptr;
    int64_t n_group = 0;
};

/// Arguments of tanh(norm(x)) of a stream, written to operands with as many channels.
struct SquashArgs {
    int64_t n_tile = 0, width = 0;
    int32_t n_channel = 0;
    const float* x = nullptr;
    DeviceNorm norm;  ///< weight, bias (width)
    Operand operand = Operand::fp32;
    void* to = nullptr;
};

/// Arguments of columns = y * std + mean of the points; NaN if the findings report that the run has
/// failed.
struct EndArgs {
    int64_t n_point = 0;
    const int64_t* points = nullptr;  ///< as in BeginArgs
    const float* y = nullptr;         ///< stream of `width`
    int64_t width = 0;
    const DeviceColumn* columns = nullptr;
    int64_t n_column = 0;
    bool is_probability = false;  ///< 1 / (1 + exp(-y)) instead of y
    DeviceFindings* findings = nullptr;
};

/// The passes of the plug-in. Each enqueues on `stream`; throws device, not_supported. load() loads
/// the code for an operand and a head onto the device. Call it once before the first pass of a plan
/// there, and not while a graph is recorded.
struct DeviceKernels {
    void (*begin)(const DeviceProperties&, const BeginArgs&, Stream) = nullptr;
    void (*linear)(const DeviceProperties&, const LinearArgs&, Stream) = nullptr;
    void (*augment)(const DeviceProperties&, const AugmentArgs&, Stream) = nullptr;
    void (*order)(const DeviceProperties&, const OrderArgs&, Stream) = nullptr;
    void (*attend)(const DeviceProperties&, const AttendArgs&, Stream) = nullptr;
    void (*combine)(const DeviceProperties&, const CombineArgs&, Stream) = nullptr;
    void (*squash)(const DeviceProperties&, const SquashArgs&, Stream) = nullptr;
    void (*end)(const DeviceProperties&, const EndArgs&, Stream) = nullptr;
    void (*move)(const DeviceProperties&, const MoveArgs&, Stream) = nullptr;
    void (*share)(const DeviceProperties&, const ShareArgs&, Stream) = nullptr;
    void (*load)(const DeviceProperties&, Operand, const DeviceHead&) = nullptr;
};

namespace cuda {
/// Returns the passes, launched on the thread's current device.
const DeviceKernels& kernels();
/// Returns the passes for a plug-in; each makes its device current for the launch.
DeviceTable device_table();
}  // namespace cuda

}  // namespace surrogate::kernels::hept
