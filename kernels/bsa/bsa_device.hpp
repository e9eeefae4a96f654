// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/bsa/erwin_device.hpp"
#include "kernels/device/columns.hpp"
#include "kernels/device/device.hpp"
#include "kernels/device/device_table.hpp"
#include "kernels/device/fragments.hpp"
#include "kernels/device/operand.hpp"
#include "kernels/linear/linear_device.hpp"
#include "kernels/linear/row_move_device.hpp"

/// Ball Sparse Attention on a device. The formulas are in bsa.hpp and in the specification; this
/// file gives shapes and layouts. Resources and counts are in bsa_cuda.md.
///
/// The residual stream is stored in the main order of slots. A layer reads its rows in its own
/// order, main or rotated, and writes the result of attention back in the main order, so that
/// nothing else is ever permuted. Slot i is row i; rows without a slot are finite.
///   streams    float (n_tile, width / 8, 32, 4), fragment_index(row, channel, width)
///   operands   (n_tile, n_group, 32) pieces of 16 rows x 8 channels (products.cuh)
/// A head has head_groups groups of 8 channels; padded channels are zero. Queries are multiplied by
/// log2(e) / sqrt(D) in advance: scores are exponents of two.
///
/// All pointers are device memory that the caller owns. Kernels do not allocate and are enqueued.
namespace surrogate::kernels::bsa {

constexpr int64_t largest_axes = 3;    ///< coordinates per point
constexpr int64_t largest_head = 128;  ///< channels per head
constexpr int64_t most_choices = 32;   ///< blocks per group

/// Arguments of the pass that writes the features of the slots' points to a stream:
///   fourier   cos, then sin of W p
///   linear    W p + b
///   given     columns n_axis ..
/// Positions are passed already normalized; columns of coordinates are not read. Copies of a point
/// repeat its features and report nothing.
struct BeginArgs {
    enum class Features { fourier, linear, given };
    Features features = Features::fourier;
    int64_t n_slot = 0, n_axis = 0;
    const int64_t* points = nullptr;   ///< (n_slot) point of each slot; ~point for a copy
    const float* positions = nullptr;  ///< (n_slot, n_axis)
    const DeviceColumn* columns = nullptr;
    const float* weight = nullptr;  ///< fourier (n_feature / 2, n_axis); linear (n_feature, n_axis)
    const float* bias = nullptr;    ///< linear (n_feature)
    int64_t n_feature = 0, width = 0;
    float* to = nullptr;
    DeviceFindings* findings = nullptr;
    DeviceOutside* outside = nullptr;  ///< (n_column)
};

/// Arguments of the pass that writes u = norm(x) + W rel + b of the slots, in the layer's order, as
/// operands.
struct StartArgs {
    Operand operand = Operand::fp32;
    int64_t n_slot = 0, n_axis = 0;
    const int32_t* slots = nullptr;  ///< (n_slot) main slot at each index; null: in order
    const float* x = nullptr;        ///< stream, main order
    int64_t width = 0;
    DeviceNorm norm;
    int32_t n_norm = 0;               ///< number of channels in the norm; weight null: no norm
    const float* relative = nullptr;  ///< (n_slot, n_axis), layer's order; null: nothing is added
    const float* weight = nullptr;    ///< (width, n_axis)
    const float* bias = nullptr;      ///< (width)
    void* to = nullptr;               ///< operands (n_tile, width / 8, 32)
};

/// Heads as rows of a stream: channel c of head h of item i is in row
/// i * items + h * heads, at channel first + h * head_channels + c.
struct HeadRows {
    const float* stream = nullptr;
    int64_t width = 0;
    int32_t items = 1, heads = 0;
    int32_t first = 0, head_channels = 0;
};

/// Arguments of the pass that folds blocks of l slots: for each head the l * D channels of the
/// slots side by side, in row b * H + h of a stream of `width` channels; or their means, D
/// channels.
struct FoldArgs {
    bool is_mean = false;
    int64_t n_block = 0, l = 1;
    int32_t n_head = 0, n_dim = 0;
    HeadRows from;
    float* to = nullptr;
    int64_t width = 0;
};

/// Arguments of the choice: for each group of g slots and each head, the first n_choice blocks of
/// the total order in bsa.hpp, ascending. Scores are in single precision, fused over channels in
/// order. There are always at least n_choice blocks.
struct ChooseArgs {
    int64_t n_group = 0, g = 1;  ///< g: number of items of `queries` that a group averages
    int64_t first_ball = 0;      ///< ball of group 0, among the balls of the blocks
    int64_t n_block = 0;
    int32_t n_choice = 1, n_head = 0, n_dim = 0;
    int64_t groups_of_ball = 0, blocks_of_ball = 0;  ///< 0: groups have no own blocks
    HeadRows queries, keys;
    int32_t* to = nullptr;  ///< (n_group, n_head, n_choice)
    DeviceFindings* findings = nullptr;
};

/// Arguments of y = gate * softmax(scores) values of each query, written or added.
///   all      keys 0 .. n_key - 1
///   ball     keys in the query's ball of `ball` slots; scores += sigma_h |rel_i - rel_j|
///   chosen   the l keys of each of the n_choice blocks of the query's group of g
struct AttendArgs {
    enum class Keys { all, ball, chosen };
    Keys kind = Keys::all;
    Operand operand = Operand::fp32;
    int64_t n_query = 0, n_key = 0;
    int32_t n_head = 0, head_groups = 0;
    HeadRows queries, keys, values;

    int64_t ball = 1;
    const float* relative = nullptr;  ///< (n_query, n_axis)
    int32_t n_axis = 0;
    const float* sigma = nullptr;  ///< (n_head), multiplied by log2(e)

    const int32_t* chosen = nullptr;  ///< as in ChooseArgs
    int64_t g = 1, l = 1;
    int32_t n_choice = 0;

    int64_t repeats = 1;             ///< number of rows that query i is written to: repeats * i ..
    const int32_t* slots = nullptr;  ///< as in StartArgs: target of each row
    /// Stream of n_head * head_groups * 8 channels, main order; zeros follow up to a multiple of
    /// 16.
    float* to = nullptr;
    bool adds = false;
    // Gates before the sigmoid, of the layer's rows: channel gate_first + h * gate_step of a
    // stream, or of one row for all queries.
    const float* gates = nullptr;  ///< null: 1
    int64_t gate_width = 0;        ///< 0: one row
    int32_t gate_first = 0, gate_step = 1;
};

/// Arguments of x += residual, residual = x, or only of residual = x.
struct ResidualArgs {
    int64_t n = 0;  ///< number of elements
    float* x = nullptr;
    float* residual = nullptr;
    bool adds = true;
};

/// Arguments of columns = y * std + mean of the original points; NaN if the findings report that
/// the run has failed.
struct EndArgs {
    int64_t n_slot = 0;
    const int64_t* points = nullptr;  ///< as in BeginArgs
    const float* y = nullptr;
    int64_t width = 0;
    const DeviceColumn* columns = nullptr;
    int64_t n_column = 0;
    DeviceFindings* findings = nullptr;
};

/// The passes of the plug-in. Each enqueues on `stream`; throws device, not_supported. load() loads
/// the code for an operand onto the device. Call it once before the first pass of a plan there, and
/// not while a graph is recorded.
struct DeviceKernels {
    void (*begin)(const DeviceProperties&, const BeginArgs&, Stream) = nullptr;
    void (*linear)(const DeviceProperties&, const LinearArgs&, Stream) = nullptr;
    void (*start)(const DeviceProperties&, const StartArgs&, Stream) = nullptr;
    void (*fold)(const DeviceProperties&, const FoldArgs&, Stream) = nullptr;
    void (*choose)(const DeviceProperties&, const ChooseArgs&, Stream) = nullptr;
    void (*attend)(const DeviceProperties&, const AttendArgs&, Stream) = nullptr;
    void (*residual)(const DeviceProperties&, const ResidualArgs&, Stream) = nullptr;
    void (*end)(const DeviceProperties&, const EndArgs&, Stream) = nullptr;
    void (*move)(const DeviceProperties&, const MoveArgs&, Stream) = nullptr;
    void (*message)(const DeviceProperties&, const MessageArgs&, Stream) = nullptr;
    void (*update)(const DeviceProperties&, const UpdateArgs&, Stream) = nullptr;
    void (*join)(const DeviceProperties&, const JoinArgs&, Stream) = nullptr;
    void (*spread)(const DeviceProperties&, const SpreadArgs&, Stream) = nullptr;
    void (*load)(const DeviceProperties&, Operand) = nullptr;
};

namespace cuda {
/// Returns the passes, launched on the thread's current device.
const DeviceKernels& kernels();
/// Returns the passes for a plug-in; each makes its device current for the launch.
DeviceTable device_table();
}  // namespace cuda

}  // namespace surrogate::kernels::bsa
