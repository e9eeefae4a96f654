// SPDX-License-Identifier: Apache-2.0
// A row is processed by as many lanes of a warp as it has channels, up to 32 lanes.
#include "kernels/device/launch.cuh"
#include "kernels/norm/row_norm_device.hpp"

namespace surrogate::kernels::cuda {
namespace {

constexpr int n_thread = 128;

/// Returns the smallest power of two that is at least n, up to `most`.
int lanes_for(int64_t n, int most) {
    int lanes = 1;
    while (lanes < n && lanes < most) lanes *= 2;
    return lanes;
}

__device__ float sum_of_lanes(float value, int n_lane) {
    for (int distance = 1; distance < n_lane; distance *= 2)
        value += __shfl_xor_sync(0xffffffffU, value, distance);
    return value;
}

/// One row, processed by the lanes that share it; lanes of rows that do not exist take part in the
/// sums.
struct Row {
    const RowNormArgs& args;
    int n_lane, lane;
    int64_t row;
    bool exists;
    float share;
    float mean = 0, scale = 0;

    __device__ Row(const RowNormArgs& a, int lanes)
        : args(a),
          n_lane(lanes),
          lane(static_cast<int>(threadIdx.x) % lanes),
          row(int64_t{blockIdx.x} * (n_thread / lanes) + static_cast<int>(threadIdx.x) / lanes),
          exists(row < a.n_row),
          share(1.0F / static_cast<float>(a.n_channel)) {}

    template <class Term>
    __device__ float sum(const Term& term) const {
        float own = 0;
        if (exists) {
            for (int64_t c = lane; c < args.n_channel; c += n_lane)
                own += term(c, row * args.n_channel + c);
        }
        return sum_of_lanes(own, n_lane);
    }
    template <class Body>
    __device__ void each(const Body& body) const {
        if (!exists) return;
        for (int64_t c = lane; c < args.n_channel; c += n_lane) body(c, row * args.n_channel + c);
    }

    __device__ void measure() {
        if (args.kind == NormKind::layer)
            mean = share * sum([&](int64_t, int64_t at) { return args.x[at]; });
        const float square = sum([&](int64_t, int64_t at) {
            const float d = args.x[at] - mean;
            return d * d;
        });
        scale = rsqrtf(square * share + args.eps);
    }
    __device__ float unit(int64_t at) const { return (args.x[at] - mean) * scale; }
};

__global__ void __launch_bounds__(n_thread) row_norm_kernel(const RowNormArgs args, int n_lane) {
    Row row(args, n_lane);
    row.measure();
    row.each([&](int64_t c, int64_t at) {
        args.y[at] = row.unit(at) * args.weight[c] + (args.bias ? args.bias[c] : 0.0F);
    });
}

__global__ void __launch_bounds__(n_thread)
    row_norm_backward_kernel(const RowNormArgs args, int n_lane) {
    Row row(args, n_lane);
    row.measure();
    const auto g = [&](int64_t c, int64_t at) { return args.dy[at] * args.weight[c]; };
    float mean = 0;
    if (args.kind == NormKind::layer) mean = row.share * row.sum(g);
    const float along =
        row.share * row.sum([&](int64_t c, int64_t at) { return g(c, at) * row.unit(at); });
    row.each([&](int64_t c, int64_t at) {
        const float dx = row.scale * (g(c, at) - mean - row.unit(at) * along);
        args.dx[at] = dx + (args.residual ? args.residual[at] : 0.0F);
    });
    if (row.exists && row.lane == 0) {
        args.moments[2 * row.row] = row.mean;
        args.moments[2 * row.row + 1] = row.scale;
    }
}

/// Processes one part, and `n_column` channels of it, per block; threads of one channel process
/// rows in turn.
__global__ void __launch_bounds__(n_thread)
    row_norm_gradient_kernel(const RowNormGradientArgs args, int n_column) {
    __shared__ float sums[2][n_thread];
    const int thread = static_cast<int>(threadIdx.x), n_lane = n_thread / n_column;
    const int64_t c = int64_t{blockIdx.y} * n_column + thread % n_column, part = blockIdx.x;
    const int64_t end = min((part + 1) * args.rows_per_part, args.n_row);
    float weight = 0, bias = 0;
    if (c < args.n_channel) {
        for (int64_t row = part * args.rows_per_part + thread / n_column; row < end;
             row += n_lane) {
            const int64_t at = row * args.n_channel + c;
            const float dy = args.dy[at];
            weight += dy * ((args.x[at] - args.moments[2 * row]) * args.moments[2 * row + 1]);
            bias += dy;
        }
    }
    sums[0][thread] = weight;
    sums[1][thread] = bias;
    __syncthreads();
    if (thread >= n_column || c >= args.n_channel) return;
    for (int lane = 1; lane < n_lane; ++lane) {
        weight += sums[0][thread + lane * n_column];
        bias += sums[1][thread + lane * n_column];
    }
    args.parts[2 * part * args.n_channel + c] = weight;
    args.parts[(2 * part + 1) * args.n_channel + c] = bias;
}

unsigned row_blocks(int64_t n_row, int n_lane) {
    const int64_t rows = n_thread / n_lane;
    return static_cast<unsigned>((n_row + rows - 1) / rows);
}

}  // namespace

void row_norm(const DeviceProperties&, const RowNormArgs& args, Stream stream) {
    if (args.n_row == 0) return;
    const int n_lane = lanes_for(args.n_channel, 32);
    SURROGATE_LAUNCH(row_norm_kernel, row_blocks(args.n_row, n_lane), n_thread, 0, stream, args,
                     n_lane);
    check_launch("row norm");
}

void row_norm_backward(const DeviceProperties&, const RowNormArgs& args, Stream stream) {
    if (args.n_row == 0) return;
    const int n_lane = lanes_for(args.n_channel, 32);
    SURROGATE_LAUNCH(row_norm_backward_kernel, row_blocks(args.n_row, n_lane), n_thread, 0, stream,
                     args, n_lane);
    check_launch("row norm backward");
}

void row_norm_gradient(const DeviceProperties&, const RowNormGradientArgs& args, Stream stream) {
    if (args.n_row == 0) return;
    const int n_column = lanes_for(args.n_channel, n_thread);
    const dim3 grid(static_cast<unsigned>(args.n_part()),
                    static_cast<unsigned>((args.n_channel + n_column - 1) / n_column), 1);
    SURROGATE_LAUNCH(row_norm_gradient_kernel, grid, n_thread, 0, stream, args, n_column);
    check_launch("row norm gradient");
}

void load_row_norm(const DeviceProperties&) {
    check(allow_shared(row_norm_kernel, 0), "row norm");
    check(allow_shared(row_norm_backward_kernel, 0), "row norm backward");
    check(allow_shared(row_norm_gradient_kernel, 0), "row norm gradient");
}

}  // namespace surrogate::kernels::cuda
