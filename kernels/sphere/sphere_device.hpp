// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/columns.hpp"
#include "kernels/device/device.hpp"
#include "kernels/device/device_table.hpp"
#include "kernels/device/fragments.hpp"
#include "kernels/device/operand.hpp"
#include "kernels/linear/linear_device.hpp"

/// The spherical Transformer and SegFormer on a device. The formulas are in attention.hpp,
/// convolve.hpp and in the specification; this file gives shapes and layouts. Resources and counts
/// are in sphere_cuda.md.
///
/// Points of the internal grid are stored in rows, each ring of longitudes in whole tiles of 16:
/// ring h is tiles h * n_tile .. (h + 1) * n_tile - 1 with n_tile = ceil(n_lon / 16), and column u
/// is row u of them. The neighbors of a tile are therefore runs of whole tiles, an interval becomes
/// a mask of at most its two ends, and the layout of a ring is the same for any number of ranks. It
/// costs up to 15 rows per ring; they are finite and never read as keys.
///   streams    float (n_ring * n_tile, width / 8, 32, 4), fragment_index(row, channel, width)
///   operands   (n_ring * n_tile, n_group, 32) pieces of 16 rows x 8 channels (products.cuh)
///   planes     float (n_channel, n_ring, n_lon): input of the gathers of convolutions
///
/// All pointers are device memory that the caller owns. Kernels do not allocate and are enqueued.
namespace surrogate::kernels::sphere {

/// Limit of the heads, including the parts of wide ones, in one launch.
constexpr int64_t most_heads = 16384;

/// Points of the internal grid.
struct DeviceGrid {
    int32_t n_ring = 0, n_lon = 0;

    constexpr int64_t ring_tiles() const { return row_tiles(n_lon); }
    constexpr int64_t n_tile() const { return n_ring * ring_tiles(); }
    constexpr int64_t n_point() const { return int64_t{n_ring} * n_lon; }
    /// Returns the row of column `lon` of a ring.
    constexpr int64_t row(int64_t ring, int64_t lon) const {
        return ring * ring_tiles() * tile_rows + lon;
    }
};

/// Strip of stencil.hpp, 0 <= first < n_column; its weights begin at `value`.
struct DeviceStrip {
    int32_t row = 0, first = 0, count = 0;
    int64_t value = 0;
};

/// Stencil of stencil.hpp over all rows of its output: list (row * n_phase_out + phase) * n_basis
/// + k owns strips[begin[list]] .. strips[begin[list + 1] - 1].
struct DeviceStencil {
    int32_t n_column = 0, n_phase_in = 1, n_phase_out = 1, n_basis = 1;
    const int64_t* begin = nullptr;
    const DeviceStrip* strips = nullptr;
    const float* values = nullptr;  ///< null: none
};

/// Arguments of the copy of the caller's columns to planes: position i of the grid, row by row from
/// north to south, is point points[i]. A value that is not finite becomes 0, and a finding.
struct ReadArgs {
    int64_t n_point = 0;
    const int64_t* points = nullptr;
    const DeviceColumn* columns = nullptr;  ///< (n_column)
    int64_t n_column = 0;
    float* to = nullptr;  ///< planes
    DeviceFindings* findings = nullptr;
    DeviceOutside* outside = nullptr;  ///< (n_column)
};

/// Arguments of the encoder's geometry: channel c * n_basis + k of a stream on `grid` becomes the
/// sum of Psi_k(..) x(c, ..); all other rows and channels are zero.
struct GatherArgs {
    DeviceStencil stencil;     ///< n_phase_out 1
    DeviceGrid grid;           ///< grid of the output
    const float* x = nullptr;  ///< planes of n_column * n_phase_in longitudes
    int64_t n_channel = 0, n_in_point = 0;
    float* to = nullptr;
    int64_t width = 0;
};

/// Arguments of a depthwise convolution of a grid to itself, including weights and activation:
///   to(c) = activation(sum_k weight[c, k] sum of Psi_k(..) x(c, ..))
/// All other rows and channels are zero.
struct MixArgs {
    DeviceStencil stencil;  ///< no phases
    DeviceGrid grid;
    const float* x = nullptr;  ///< planes
    int64_t n_channel = 0, n_in_point = 0;
    const float* weight = nullptr;  ///< (n_channel, n_basis)
    DeviceActivation activation = DeviceActivation::none;
    float* to = nullptr;  ///< stream
    int64_t width = 0;
};

/// Arguments of x = norm(x) over the first n_channel channels of a stream, in place.
struct NormArgs {
    DeviceGrid grid;
    DeviceNorm norm;  ///< weight, bias (width)
    int64_t n_channel = 0;
    float* x = nullptr;
    int64_t width = 0;
};

/// Arguments of the copy of n numbers.
struct CopyArgs {
    const float* from = nullptr;
    float* to = nullptr;
    int64_t n = 0;  ///< a multiple of 4
};

/// Arguments of the copy of words of whole rings between two buffers, to pack or unpack messages
/// between ranks. Ring i is ring from_rings[i] of `from` and to_rings[i] of `to`; its words are
/// n_run runs of n_word. Steps are in words.
struct RingsArgs {
    int64_t n_ring = 0, n_run = 0, n_word = 0;
    const uint32_t* from = nullptr;
    int64_t from_ring = 0, from_run = 0;
    const int32_t* from_rings = nullptr;  ///< (n_ring); null: 0, 1, ..
    uint32_t* to = nullptr;
    int64_t to_ring = 0, to_run = 0;
    const int32_t* to_rings = nullptr;
    bool gives = false;  ///< a run that has failed writes words of ones, which are NaN
    bool takes = false;  ///< reports such words as a finding
    DeviceFindings* findings = nullptr;
};

/// Arguments of the sums over each ring of each channel of a stream, in double:
///   parts (n_ring, 2, width): sums, sums of squares; NaN if the run has failed.
struct MomentsArgs {
    DeviceGrid grid;
    const float* x = nullptr;
    int64_t width = 0;
    double* parts = nullptr;
    const DeviceFindings* findings = nullptr;
};

/// Arguments of the instance norm from those sums: operands of (x - mean) / sqrt(variance + eps) *
/// weight + bias. Sums that are not finite are a finding.
struct InstanceNormArgs {
    Operand operand = Operand::fp32;
    DeviceGrid grid;
    const float* x = nullptr;
    int64_t width = 0;
    const double* parts = nullptr;
    const int64_t* places = nullptr;  ///< (n_part) index in `parts` of each ring of all ranks
    int64_t n_part = 0;
    const float *weight = nullptr, *bias = nullptr;  ///< (width)
    float eps = 0;
    void* to = nullptr;  ///< width / 8 groups
    DeviceFindings* findings = nullptr;
};

/// Arguments of attention: queries, keys and values of the rings that a rank holds, operands first
/// of the queries of all heads, then keys, then values; head_groups groups per head, scores are
/// exponents of two. Rings are numbered among the held rings; the queries of `grid` begin at ring
/// first_ring.
///   neighborhood  strips of a row, of whole rings   global  all rings
struct AttendArgs {
    Operand operand = Operand::fp32;
    DeviceGrid grid;  ///< grid of the queries
    int32_t first_ring = 0, n_key_ring = 0;
    const void* qkv = nullptr;
    int64_t n_group = 0;
    int32_t n_head = 0, head_groups = 0;
    const DeviceStrip* strips = nullptr;  ///< null: global
    const int64_t* begin = nullptr;       ///< (n_ring + 1)
    const float* log_weight = nullptr;    ///< (n_key_ring) log2 of the quadrature weight of a point
    void* to = nullptr;                   ///< operands of to_groups groups, heads first
    int64_t to_groups = 0;
};

/// Arguments of the copy of the first n_channel channels of a stream to planes.
struct PlanesArgs {
    DeviceGrid grid;
    const float* x = nullptr;
    int64_t width = 0, n_channel = 0;
    float* to = nullptr;
};

/// Arguments of the decoder's geometry, including upsampling:
///   y(o) = sum_k sum of Psi_k(..) t(o * n_basis + k, ..) + added(o) + bias(o)
/// written to planes, or to the columns as y * std + mean, or NaN if the findings report that the
/// run has failed. The output column is u * n_phase_out + phase.
struct WriteArgs {
    DeviceStencil stencil;     ///< n_phase_in 1, from the internal grid
    int32_t n_row = 0;         ///< rows of the output
    const float* t = nullptr;  ///< planes
    int64_t n_in_point = 0;
    const float* added = nullptr;     ///< planes of the output's grid, may be `to`; null: nothing
    const float* bias = nullptr;      ///< (n_column); null: none
    float* to = nullptr;              ///< planes of the output's grid; null: to the columns
    const int64_t* points = nullptr;  ///< as in ReadArgs
    const DeviceColumn* columns = nullptr;
    int64_t n_column = 0;
    DeviceFindings* findings = nullptr;
};

/// The passes of the plug-in. Each enqueues on `stream`; throws device, not_supported. load() loads
/// the code for an operand onto the device. Call it once before the first pass of a plan there, and
/// not while a graph is recorded.
struct DeviceKernels {
    void (*read)(const DeviceProperties&, const ReadArgs&, Stream) = nullptr;
    void (*gather)(const DeviceProperties&, const GatherArgs&, Stream) = nullptr;
    void (*mix)(const DeviceProperties&, const MixArgs&, Stream) = nullptr;
    void (*copy)(const DeviceProperties&, const CopyArgs&, Stream) = nullptr;
    void (*linear)(const DeviceProperties&, const LinearArgs&, Stream) = nullptr;
    void (*norm)(const DeviceProperties&, const NormArgs&, Stream) = nullptr;
    void (*moments)(const DeviceProperties&, const MomentsArgs&, Stream) = nullptr;
    void (*instance_norm)(const DeviceProperties&, const InstanceNormArgs&, Stream) = nullptr;
    void (*attend)(const DeviceProperties&, const AttendArgs&, Stream) = nullptr;
    void (*rings)(const DeviceProperties&, const RingsArgs&, Stream) = nullptr;
    void (*planes)(const DeviceProperties&, const PlanesArgs&, Stream) = nullptr;
    void (*write)(const DeviceProperties&, const WriteArgs&, Stream) = nullptr;
    void (*load)(const DeviceProperties&, Operand) = nullptr;
};

namespace cuda {
/// Returns the passes, launched on the thread's current device.
const DeviceKernels& kernels();
/// Returns the passes for a plug-in; each makes its device current for the launch.
DeviceTable device_table();
}  // namespace cuda

}  // namespace surrogate::kernels::sphere
