// SPDX-License-Identifier: Apache-2.0
// First and last pass of a run: from the caller's columns to the stream of channels, and back.
#include "kernels/device/columns.cuh"
#include "kernels/flare/flare_launch.cuh"

namespace surrogate::kernels::flare::cuda {
namespace {

/// A pass whose warps exchange points in shared memory: lane by lane as columns, and as pieces.
template <Operand operand, int width>
struct Ends : Pass<operand, width> {
    using Base = Pass<operand, width>;
    using Feed = typename Base::Feed;
    using Base::lane, Base::n_group, Base::n_tile, Base::warp;
    static constexpr int warp_rows = 16 * n_tile;

    float* own;  // (warp_rows, width) fragments of this warp

    __device__ explicit Ends(unsigned char* slots)
        : own(reinterpret_cast<float*>(slots) + warp * warp_rows * width) {}

    /// Reads the network's inputs of the warp's points, from tile `first`.
    __device__ void gather(const BeginArgs& args, int64_t first, float (&x)[n_tile][n_group][4]) {
        const int64_t point = first * tile_rows + lane;
        __syncwarp();
        const bool exists = lane < warp_rows && point < args.n_point;
        for (int c = 0; c < width; ++c) {
            const bool is_column = c < args.n_column;
            uint64_t above = 0, below = 0;
            float input = 0;
            if (is_column && exists)
                input = read_column(args.columns[c], point, c, args.findings, above, below);
            if (lane < warp_rows) own[fragment_index(lane, c, width)] = input;
            if (is_column) count_outside(above, below, args.outside, c);
        }
        __syncwarp();
#pragma unroll
        for (int tile = 0; tile < n_tile; ++tile) this->load(own, tile, warp_rows, x[tile]);
    }

    __device__ void scatter(const EndArgs& args, int64_t first, bool lost,
                            const float (&x)[n_tile][n_group][4]) {
        const int64_t point = first * tile_rows + lane;
        __syncwarp();
#pragma unroll
        for (int tile = 0; tile < n_tile; ++tile) this->store(own, tile, warp_rows, x[tile]);
        __syncwarp();
        const bool exists = lane < warp_rows && point < args.n_point;
        for (int c = 0; c < args.n_column && exists; ++c)
            write_column(args.columns[c], point, c, own[fragment_index(lane, c, width)], lost,
                         args.findings);
        __syncwarp();  // lanes without a point have skipped the loop
    }
};

template <Operand operand, int width>
__global__ void __launch_bounds__(tiling_of(operand, width, 0).n_thread(), 1)
    begin_kernel(const BeginArgs args, int weight_bytes, bool resident) {
    SURROGATE_SHARED(shared);
    using Pass = Ends<operand, width>;
    typename Pass::Feed feed(shared, resident, Pass::layer, args.in_proj, DeviceMlp{});
    Pass pass(shared + weight_bytes);
    const int rows = pass.rows();
    const int64_t n_unit = (args.n_point + rows - 1) / rows;
    for (int64_t unit = blockIdx.x; unit < n_unit; unit += gridDim.x) {
        const int64_t first = pass.first_tile(unit * rows);
        float x[Pass::n_tile][Pass::n_group][4];
        pass.gather(args, first, x);
        run_chain<operand>(args.in_proj, Pass::layer, feed, x);
#pragma unroll
        for (int tile = 0; tile < Pass::n_tile; ++tile)
            pass.store(args.x, first + tile, args.n_point, x[tile]);
    }
    feed.finish();
}

template <Operand operand, int width>
__global__ void __launch_bounds__(tiling_of(operand, width, 0).n_thread(), 1)
    end_kernel(const EndArgs args, int weight_bytes, bool resident) {
    SURROGATE_SHARED(shared);
    using Pass = Ends<operand, width>;
    typename Pass::Feed feed(shared, resident, Pass::layer, args.out_proj, DeviceMlp{});
    Pass pass(shared + weight_bytes);
    const uint32_t mask = pass.mask(args.shape);
    const int n_channel = static_cast<int>(args.shape.sizes.n_channel());
    const bool lost = is_lost(*args.findings);
    const int rows = pass.rows();
    const int64_t n_unit = (args.n_point + rows - 1) / rows;
    for (int64_t unit = blockIdx.x; unit < n_unit; unit += gridDim.x) {
        const int64_t first = pass.first_tile(unit * rows);
        float x[Pass::n_tile][Pass::n_group][4];
#pragma unroll
        for (int tile = 0; tile < Pass::n_tile; ++tile) {
            pass.load(args.x, first + tile, args.n_point, x[tile]);
            normalise(args.norm, mask, n_channel, x[tile]);
        }
        run_chain<operand>(args.out_proj, Pass::layer, feed, x);
        pass.scatter(args, first, lost, x);
    }
    feed.finish();
}

/// Layout of shared memory in both passes: weights, then a block's points.
struct Room {
    int64_t slots;
    WeightRoom weights;
    Room(const DeviceProperties& device, Operand operand, int64_t width, int64_t n_layer)
        : slots(tiling_of(operand, width, 0).block_rows() * width *
                static_cast<int64_t>(sizeof(float))),
          weights(operand, width, n_layer, device.shared_bytes - slots) {}
    int64_t bytes() const { return slots + weights.bytes; }
};

}  // namespace

void load_begin_and_end(const DeviceProperties& device, Operand operand_, int64_t width_) {
    with_instance(operand_, width_, [&]<Operand operand, int width>() {
        load_kernel(device, begin_kernel<operand, width>, "flare begin");
        load_kernel(device, end_kernel<operand, width>, "flare end");
    });
}

void begin(const DeviceProperties& device, const BeginArgs& args, Stream stream) {
    if (args.n_point == 0) return;
    with_instance(args.operand, args.shape.width, [&]<Operand operand, int width>() {
        const Room room(device, operand, width, args.in_proj.n_layer);
        const Tiling tiling =
            tiling_of(operand, width, 0).for_points(args.n_point, device.n_multiprocessor);
        SURROGATE_LAUNCH((begin_kernel<operand, width>),
                         pass_blocks(device, args.n_point, tiling.block_rows()), tiling.n_thread(),
                         static_cast<size_t>(room.bytes()), stream, args,
                         static_cast<int>(room.weights.bytes), room.weights.resident);
        check_launch("flare begin");
    });
}

void end(const DeviceProperties& device, const EndArgs& args, Stream stream) {
    if (args.n_point == 0) return;
    with_instance(args.operand, args.shape.width, [&]<Operand operand, int width>() {
        const Room room(device, operand, width, args.out_proj.n_layer);
        const Tiling tiling =
            tiling_of(operand, width, 0).for_points(args.n_point, device.n_multiprocessor);
        SURROGATE_LAUNCH((end_kernel<operand, width>),
                         pass_blocks(device, args.n_point, tiling.block_rows()), tiling.n_thread(),
                         static_cast<size_t>(room.bytes()), stream, args,
                         static_cast<int>(room.weights.bytes), room.weights.resident);
        check_launch("flare end");
    });
}

}  // namespace surrogate::kernels::flare::cuda
