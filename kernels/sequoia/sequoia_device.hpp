// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "kernels/device/channels.hpp"
#include "kernels/device/columns.hpp"
#include "kernels/device/device.hpp"
#include "kernels/device/device_table.hpp"
#include "kernels/device/fragments.hpp"
#include "kernels/device/operand.hpp"
#include "kernels/linear/linear_device.hpp"

/// Sequoia on a device. The formulas are in sequoia.hpp and in the specification; this file gives
/// shapes and layouts. Resources and counts are in sequoia_cuda.md.
///
/// Nodes are stored in rows, whole groups of siblings in tiles of 16 rows, level after level,
/// leaves first. The rows of a group begin at the same row of a tile for any number of ranks, so
/// that the results of a node do not depend on the number of ranks. Rows without a node are finite.
///   streams    float (n_tile, width / 8, 32, 4), fragment_index(row, channel, width)
///   operands   (n_tile, n_group, 32) pieces of 16 rows x 8 channels (products.cuh)
///
/// All pointers are device memory that the caller owns. Kernels do not allocate and are enqueued.
namespace surrogate::kernels::sequoia {

constexpr int64_t largest_branch = 16;  ///< k of a tree on a device: siblings share a tile
constexpr int64_t largest_head = 128;   ///< channels per head
constexpr int64_t most_levels = 40;     ///< sufficient for 2^39 leaves of a binary tree
constexpr int64_t most_positions = 8;   ///< coordinates of a point from which features are computed

/// Nodes begin .. end - 1 of a level on one rank; the level has n nodes over all ranks.
struct DeviceLevel {
    int64_t n = 0, begin = 0, end = 0;
    /// Node of the first row; it is before `begin` if the tile is cut between ranks.
    int64_t origin = 0;
    int64_t first_tile = 0;  ///< first tile of the level among all tiles
    int64_t n_tile = 0;
};

/// Returns the number of groups of k siblings in a tile.
constexpr int64_t groups_of_tile(int64_t k) {
    return tile_rows / k;
}
/// Returns the level of n nodes, of which this rank holds begin .. end - 1.
constexpr DeviceLevel device_level(int64_t k, int64_t n, int64_t begin, int64_t end,
                                   int64_t first_tile) {
    const int64_t width = groups_of_tile(k) * k, origin = begin / width * width;
    return {n, begin, end, origin, first_tile, (end - origin + width - 1) / width};
}
/// Returns the row of node i, counted over all levels. width: nodes per tile.
constexpr int64_t row_of(const DeviceLevel& level, int64_t width, int64_t i) {
    const int64_t place = i - level.origin;
    return (level.first_tile + place / width) * tile_rows + place % width;
}

/// Arguments of the pass that writes features of the rank's own leaves to a stream whose first row
/// is the row of the level's origin:
///   fourier   cos, then sin of W p
///   linear    W p + b
///   none      columns n_skipped ..
/// All other rows and channels are zero.
struct BeginArgs {
    enum class Features { fourier, linear, none };
    Features features = Features::fourier;
    int64_t k = 2;
    DeviceLevel level;                      ///< leaves
    int64_t own_begin = 0, own_end = 0;     ///< leaves that the rank owns: points 0, 1, ..
    const int64_t* points = nullptr;        ///< (own leaves) point of each leaf; null: in order
    const DeviceColumn* columns = nullptr;  ///< (n_column)
    int64_t n_column = 0;
    int64_t n_position = 0;         ///< columns of positions, at most most_positions to be encoded
    int64_t n_skipped = 0;          ///< none: columns that are read for their findings only
    const float* weight = nullptr;  ///< fourier (n_feature / 2, n_position); linear (n_feature, ..)
    const float* bias = nullptr;    ///< linear (n_feature)
    int64_t n_feature = 0, width = 0;
    float* to = nullptr;
    DeviceFindings* findings = nullptr;
    DeviceOutside* outside = nullptr;  ///< (n_column)
};

/// Arguments of the means of the children, in double, ascending; the last child of the level counts
/// n_last times. Parents without children here, and rows without a node, become zero.
struct AverageArgs {
    int64_t k = 2;
    DeviceLevel children, parents;
    int64_t n_last = 1;
    int64_t width = 0;
    float* x = nullptr;  ///< stream of all levels
};

/// Arguments of the pass over a sequence after all means: x += added, then channel `marker` = 0.
struct MarkArgs {
    DeviceLevel level;
    const float* added = nullptr;  ///< stream of the nodes above the leaves; null: nothing
    int64_t first_tile = 0;        ///< first tile of `added` among all tiles
    int64_t marker = -1;           ///< -1: none
    int64_t width = 0;
    float* x = nullptr;  ///< stream of all levels
};

/// Queries, keys and values of all rows: operands (n_tile, n_group, 32), first the queries of all
/// heads, then keys, then values; head_groups groups per head, scores are exponents of two.
struct TreeOperands {
    Operand operand = Operand::fp32;
    void* qkv = nullptr;
    int64_t n_group = 0;
    int32_t n_head = 0, head_groups = 0;
};

/// Arguments of the attention of parents to their children, written to a stream of the nodes above
/// the leaves, of width n_head * head_groups * 8.
struct ChildrenArgs {
    int64_t k = 2;
    DeviceLevel children, parents;
    int64_t n_last = 1;  ///< multiplicity of the last child of the level as a key
    TreeOperands nodes;
    float* to = nullptr;
    int64_t first_tile = 0;  ///< first tile of `to` among all tiles
};

/// Arguments of v = (ancestors + siblings + children) / 3 for the nodes of a level, in place.
struct AttendArgs {
    int64_t k = 2;
    DeviceLevel level;
    bool has_siblings = true;
    int64_t n_last = 1;  ///< multiplicity of the last node of the level as a key
    int32_t n_ancestor = 0;
    std::array<DeviceLevel, most_levels> ancestors{};  ///< (n_ancestor), the parents' level first
    TreeOperands nodes;
    const float* children = nullptr;  ///< as in ChildrenArgs; null: none
    int64_t first_tile = 0;           ///< first tile of `children` among all tiles
};

/// Arguments of the exchange of the nodes of a level between ranks. The part of each rank,
/// part_size floats, is a flag, then a row of n_channel numbers for each own node.
///   pack    own_begin .. own_end - 1 to the own part; NaN everywhere if this rank's run has failed
///   unpack  the parts of all ranks, of nodes begins[r] .. begins[r + 1] - 1, to all nodes of the
///           level; a value that is not finite is reported in the findings
/// Sums are sent as doubles: parts and flags are then doubles too.
struct CutArgs {
    int64_t k = 2;
    DeviceLevel level;
    DeviceChannels channels;  ///< of the stream
    float* stream = nullptr;
    int64_t first_tile = 0;  ///< first tile of the stream among all tiles
    double* sums = nullptr;  ///< (nodes of the level here, n_channel), instead of the stream
    int64_t own_begin = 0, own_end = 0;
    void* parts = nullptr;  ///< (n_rank, part_size)
    int64_t part_size = 1;
    int64_t first = 0;                ///< numbers of a part between the flag and these rows
    const int64_t* begins = nullptr;  ///< (n_rank + 1)
    int32_t rank = 0, n_rank = 1;
    DeviceFindings* findings = nullptr;
};

/// Arguments of columns = y * std + mean of the rank's own leaves; NaN if the findings report that
/// the run has failed.
struct EndArgs {
    int64_t k = 2;
    DeviceLevel level;
    int64_t own_begin = 0, own_end = 0;
    const int64_t* points = nullptr;  ///< as in BeginArgs
    int64_t first_row = 0;            ///< first row of the columns, if there are no points
    const float* y = nullptr;         ///< stream whose first row is the row of the level's origin
    int64_t width = 0;
    const DeviceColumn* columns = nullptr;
    int64_t n_column = 0;
    DeviceFindings* findings = nullptr;
};

/// Arguments of the output of a level that every rank writes: rows first_row .. of the columns from
/// the parts of a gather, otherwise as EndArgs. The findings are the findings of the gather.
struct DeliverArgs {
    CutArgs from;
    int64_t first_row = 0;
    const DeviceColumn* columns = nullptr;
    int64_t n_column = 0;
};

/// Arguments of to = norm(x) for every row of a stream, zero in channels outside the norm; sums in
/// double.
struct NormArgs {
    int64_t n_tile = 0;
    const float* x = nullptr;
    DeviceNorm norm;
    int64_t n_channel = 0, width = 0;
    float* to = nullptr;
};

/// Arguments of the sums over nodes and their descendants, for a level above the leaves, in double,
/// ascending: a node's own row and then the sums of its children.
struct SumArgs {
    int64_t k = 2;
    DeviceLevel children, level;
    int64_t begin = 0, end = 0;          ///< nodes of the level that are summed here
    bool reads = true;                   ///< their own rows are added
    bool reads_leaves = true;            ///< rows of children that are leaves are added
    const float* rows = nullptr;         ///< stream of all levels
    const double* child_sums = nullptr;  ///< (children here, n_channel); null: they are leaves
    double* sums = nullptr;              ///< (nodes of the level here, n_channel)
    int64_t n_channel = 0, width = 0;
};

/// Arguments of row 0 of a tile = sums / n, or a node's own row / n; the other rows become zero.
struct MeanArgs {
    const double* sums = nullptr;  ///< (n_channel); null: `row` is used
    const float* row = nullptr;    ///< stream, of which row 0 is read
    int64_t n = 1;
    int64_t n_channel = 0, width = 0;
    float* to = nullptr;
};

/// The passes of the plug-in. Each enqueues on `stream`; throws device, not_supported. load() loads
/// the code for an operand onto the device. Call it once before the first pass of a plan there, and
/// not while a graph is recorded.
struct DeviceKernels {
    void (*begin)(const DeviceProperties&, const BeginArgs&, Stream) = nullptr;
    void (*average)(const DeviceProperties&, const AverageArgs&, Stream) = nullptr;
    void (*mark)(const DeviceProperties&, const MarkArgs&, Stream) = nullptr;
    void (*linear)(const DeviceProperties&, const LinearArgs&, Stream) = nullptr;
    void (*children)(const DeviceProperties&, const ChildrenArgs&, Stream) = nullptr;
    void (*attend)(const DeviceProperties&, const AttendArgs&, Stream) = nullptr;
    void (*pack)(const DeviceProperties&, const CutArgs&, Stream) = nullptr;
    void (*unpack)(const DeviceProperties&, const CutArgs&, Stream) = nullptr;
    void (*end)(const DeviceProperties&, const EndArgs&, Stream) = nullptr;
    void (*deliver)(const DeviceProperties&, const DeliverArgs&, Stream) = nullptr;
    void (*normalise)(const DeviceProperties&, const NormArgs&, Stream) = nullptr;
    void (*add_up)(const DeviceProperties&, const SumArgs&, Stream) = nullptr;
    void (*mean)(const DeviceProperties&, const MeanArgs&, Stream) = nullptr;
    void (*load)(const DeviceProperties&, Operand) = nullptr;
};

namespace cuda {
/// Returns the passes, launched on the thread's current device.
const DeviceKernels& kernels();
/// Returns the passes for a plug-in; each makes its device current for the launch.
DeviceTable device_table();
}  // namespace cuda

}  // namespace surrogate::kernels::sequoia
