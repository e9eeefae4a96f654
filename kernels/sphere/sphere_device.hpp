// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/device/columns.hpp"
#include "kernels/device/device.hpp"
#include "kernels/device/device_table.hpp"
#include "kernels/device/fragments.hpp"
#include "kernels/device/operand.hpp"
#include "kernels/linear/linear_device.hpp"

/// The spherical Transformer and SegFormer on a device. What is computed is said in attention.hpp,
/// convolve.hpp and in the specification; here stand the shapes and layouts. Resources and counts
/// are in sphere_cuda.md.
///
/// Points of the internal grid stand in rows, a ring of longitudes in whole tiles of 16: ring h is
/// tiles h * n_tile .. (h + 1) * n_tile - 1 of n_tile = ceil(n_lon / 16), column u is row u of
/// them. So the neighbors of a tile are runs of whole tiles, an interval becomes a mask of at most
/// its two ends, and a ring stands where it stands on any number of ranks. It costs up to 15 rows
/// a ring; they are finite, and nobody sees them.
///   streams    float (n_ring * n_tile, width / 8, 32, 4), fragment_index(row, channel, width)
///   operands   (n_ring * n_tile, n_group, 32) pieces of 16 rows x 8 channels (products.cuh)
///   planes     float (n_channel, n_ring, n_lon): what convolutions gather from
///
/// All pointers are device memory that the caller owns; kernels allocate nothing and are enqueued.
namespace surrogate::kernels::sphere {

constexpr int64_t most_heads = 16384;  ///< heads, and parts of wide ones, share a launch

/// Points of the internal grid.
struct DeviceGrid {
    int32_t n_ring = 0, n_lon = 0;

    constexpr int64_t ring_tiles() const { return row_tiles(n_lon); }
    constexpr int64_t n_tile() const { return n_ring * ring_tiles(); }
    constexpr int64_t n_point() const { return int64_t{n_ring} * n_lon; }
    /// Row of column `lon` of a ring.
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

/// The caller's columns to planes: position i of the grid, row by row from north to south, is point
/// points[i]. What is not finite becomes 0, and a finding.
struct ReadArgs {
    int64_t n_point = 0;
    const int64_t* points = nullptr;
    const DeviceColumn* columns = nullptr;  ///< (n_column)
    int64_t n_column = 0;
    float* to = nullptr;  ///< planes
    DeviceFindings* findings = nullptr;
    DeviceOutside* outside = nullptr;  ///< (n_column)
};

/// Geometry of the encoder: channel c * n_basis + k of a stream on `grid` becomes the sum of
/// Psi_k(..) x(c, ..); zero in all other rows and channels.
struct GatherArgs {
    DeviceStencil stencil;     ///< n_phase_out 1
    DeviceGrid grid;           ///< of the output
    const float* x = nullptr;  ///< planes of n_column * n_phase_in longitudes
    int64_t n_channel = 0, n_in_point = 0;
    float* to = nullptr;
    int64_t width = 0;
};

/// A depthwise convolution of a grid to itself, weights folded in, and what follows it:
///   to(c) = activation(sum_k weight[c, k] sum of Psi_k(..) x(c, ..))
/// and zero in all other rows and channels.
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

/// x = norm(x) over the first n_channel channels of a stream, in place.
struct NormArgs {
    DeviceGrid grid;
    DeviceNorm norm;  ///< weight, bias (width)
    int64_t n_channel = 0;
    float* x = nullptr;
    int64_t width = 0;
};

/// n numbers from one place to another.
struct CopyArgs {
    const float* from = nullptr;
    float* to = nullptr;
    int64_t n = 0;  ///< a multiple of 4
};

/// Words of whole rings from one memory to another: what ranks give each other, packed or put where
/// it is read. Ring i is ring from_rings[i] of `from` and to_rings[i] of `to`; its words are n_run
/// runs of n_word. Steps are in words.
struct RingsArgs {
    int64_t n_ring = 0, n_run = 0, n_word = 0;
    const uint32_t* from = nullptr;
    int64_t from_ring = 0, from_run = 0;
    const int32_t* from_rings = nullptr;  ///< (n_ring); null: 0, 1, ..
    uint32_t* to = nullptr;
    int64_t to_ring = 0, to_run = 0;
    const int32_t* to_rings = nullptr;
    bool gives = false;  ///< a run that is lost gives words of ones, which are NaN
    bool takes = false;  ///< such words are a finding
    DeviceFindings* findings = nullptr;
};

/// Sums over each ring of each channel of a stream, in double:
///   parts (n_ring, 2, width): sums, sums of squares; NaN of a run that is lost.
struct MomentsArgs {
    DeviceGrid grid;
    const float* x = nullptr;
    int64_t width = 0;
    double* parts = nullptr;
    const DeviceFindings* findings = nullptr;
};

/// Instance norm by those sums: operands of (x - mean) / sqrt(variance + eps) * weight + bias. Sums
/// that are not finite are a finding.
struct InstanceNormArgs {
    Operand operand = Operand::fp32;
    DeviceGrid grid;
    const float* x = nullptr;
    int64_t width = 0;
    const double* parts = nullptr;
    const int64_t* places = nullptr;  ///< (n_part) of each ring of all ranks, in `parts`
    int64_t n_part = 0;
    const float *weight = nullptr, *bias = nullptr;  ///< (width)
    float eps = 0;
    void* to = nullptr;  ///< width / 8 groups
    DeviceFindings* findings = nullptr;
};

/// Attention: queries, keys and values of the rings that a rank holds, operands first of the
/// queries of all heads, then keys, then values; head_groups groups a head, scores are exponents of
/// two. Rings are counted in what is held; the queries of `grid` begin at ring first_ring.
///   neighborhood  strips of a row, of whole rings   global  all rings
struct AttendArgs {
    Operand operand = Operand::fp32;
    DeviceGrid grid;  ///< of the queries
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

/// The first n_channel channels of a stream to planes.
struct PlanesArgs {
    DeviceGrid grid;
    const float* x = nullptr;
    int64_t width = 0, n_channel = 0;
    float* to = nullptr;
};

/// The decoder's geometry, upsampling included:
///   y(o) = sum_k sum of Psi_k(..) t(o * n_basis + k, ..) + added(o) + bias(o)
/// to planes, or to the columns as y * std + mean, NaN where the findings say that the run has
/// failed. Output column u * n_phase_out + phase.
struct WriteArgs {
    DeviceStencil stencil;     ///< n_phase_in 1, from the internal grid
    int32_t n_row = 0;         ///< of the output
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

/// The passes, as the plug-in offers them. Each enqueues on `stream`; throws device, not_supported.
/// load() brings the code for an operand onto the device: once before the first pass of a plan
/// there, and not while a graph is recorded.
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
/// The passes, launched on the device that is the thread's current one.
const DeviceKernels& kernels();
/// The same for a plug-in: each makes its device the current one for the launch.
DeviceTable device_table();
}  // namespace cuda

}  // namespace surrogate::kernels::sphere
