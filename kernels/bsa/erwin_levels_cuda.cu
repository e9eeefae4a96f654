// SPDX-License-Identifier: Apache-2.0
// Passes of Erwin's U-net between its layers: means of messages, the norms that follow, and row
// copies between levels. A warp has a row of up to 256 channels in registers, or threads share
// numbers. All passes are bound by memory.
#include "kernels/bsa/bsa_launch.cuh"
#include "kernels/device/items.cuh"

namespace surrogate::kernels::bsa::cuda {
namespace {

constexpr int n_pair = static_cast<int>(largest_message / 64);  // pairs of channels per lane

/// Channels 64 k + 2 lane and 64 k + 2 lane + 1 of a row, for pair k.
struct Pairs {
    float2 of[n_pair];
};

__device__ int lane_of() {
    return static_cast<int>(threadIdx.x) % 32;
}
__device__ int channel_of(int k) {
    return 64 * k + 2 * lane_of();
}
__device__ int64_t place_of(int64_t row, int64_t width, int k) {
    return place_in(row, width, lane_of() % 4) + (8 * k + lane_of() / 4) * group_step;
}
__device__ float2 load_pair(const float* from) {
    return *reinterpret_cast<const float2*>(from);
}

__device__ float sum_of_warp(float value) {
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2)
        value += __shfl_xor_sync(0xffffffffU, value, distance);
    return value;
}

/// Computes x = norm(x) over n channels. The channels after them get the weight and bias stored
/// there, which are zero.
__device__ void normalise_row(const DeviceNorm& norm, int n, int64_t width, Pairs& x) {
    const float share = 1.0F / static_cast<float>(n);
    float sum = 0;
#pragma unroll
    for (int k = 0; k < n_pair; ++k) {
        if (channel_of(k) < n) sum += x.of[k].x;
        if (channel_of(k) + 1 < n) sum += x.of[k].y;
    }
    const float mean = sum_of_warp(sum) * share;
    float squares = 0;
#pragma unroll
    for (int k = 0; k < n_pair; ++k) {
        const float2 d = make_float2(x.of[k].x - mean, x.of[k].y - mean);
        if (channel_of(k) < n) squares += d.x * d.x;
        if (channel_of(k) + 1 < n) squares += d.y * d.y;
    }
    const float scale = rsqrtf(sum_of_warp(squares) * share + norm.eps);
#pragma unroll
    for (int k = 0; k < n_pair; ++k) {
        const int channel = channel_of(k);
        if (channel >= width) continue;
        const float2 weight = load_pair(norm.weight + channel),
                     bias = load_pair(norm.bias + channel);
        x.of[k] = make_float2((x.of[k].x - mean) * scale * weight.x + bias.x,
                              (x.of[k].y - mean) * scale * weight.y + bias.y);
    }
}

__device__ float gelu(float u) {
    return 0.5F * u * (1.0F + erff(u * 0.70710678118654752F));
}

/// Returns one message, before its norm.
__device__ float message_of(const MessageArgs& args, float a, float b, int channel,
                            const float (&relative)[largest_axes]) {
    float u = a + b + args.bias[channel];
#pragma unroll
    for (int k = 0; k < largest_axes; ++k)
        if (k < args.n_axis) u = fmaf(args.weight[channel * args.n_axis + k], relative[k], u);
    return gelu(u);
}

__device__ Pairs message_along(const MessageArgs& args, int64_t source, int64_t target) {
    float relative[largest_axes] = {};
#pragma unroll
    for (int k = 0; k < largest_axes; ++k)
        if (k < args.n_axis)
            relative[k] =
                args.positions[source * args.n_axis + k] - args.positions[target * args.n_axis + k];
    Pairs m;
    const int64_t half = args.width / 8 * group_step;
#pragma unroll
    for (int k = 0; k < n_pair; ++k) {
        const int channel = channel_of(k);
        m.of[k] = make_float2(0, 0);
        if (channel >= args.width) continue;
        const float2 a = load_pair(args.parts + place_of(source, 2 * args.width, k));
        const float2 b = load_pair(args.parts + half + place_of(target, 2 * args.width, k));
        m.of[k] = make_float2(message_of(args, a.x, b.x, channel, relative),
                              message_of(args, a.y, b.y, channel + 1, relative));
    }
    normalise_row(args.norm, args.n_channel, args.width, m);
    return m;
}

/// Uses one warp per target.
__global__ void __launch_bounds__(item_threads) message_kernel(const MessageArgs args) {
    const int64_t half = args.width / 8 * group_step;
    for (int64_t i = first_item() / 32; i < args.n_target; i += item_step() / 32) {
        const int64_t begin = args.first[i], end = args.first[i + 1];
        Pairs sum = {};
        for (int64_t e = begin; e < end; ++e) {
            const Pairs m = message_along(args, args.source[e], i);
#pragma unroll
            for (int k = 0; k < n_pair; ++k) {
                sum.of[k].x += m.of[k].x;
                sum.of[k].y += m.of[k].y;
            }
        }
        const auto n = static_cast<float>(end > begin ? end - begin : 1);
#pragma unroll
        for (int k = 0; k < n_pair; ++k) {
            if (channel_of(k) >= args.width) continue;
            *reinterpret_cast<float2*>(args.to + half + place_of(i, 2 * args.width, k)) =
                make_float2(sum.of[k].x / n, sum.of[k].y / n);
        }
    }
}

/// Uses one warp per row.
__global__ void __launch_bounds__(item_threads) update_kernel(const UpdateArgs args) {
    for (int64_t row = first_item() / 32; row < args.n_row; row += item_step() / 32) {
        Pairs y = {};
#pragma unroll
        for (int k = 0; k < n_pair; ++k)
            if (channel_of(k) < args.width)
                y.of[k] = load_pair(args.y + place_of(row, args.width, k));
        normalise_row(args.norm, args.n_channel, args.width, y);
#pragma unroll
        for (int k = 0; k < n_pair; ++k) {
            if (channel_of(k) >= args.width) continue;
            float2& to = *reinterpret_cast<float2*>(args.to + place_of(row, 2 * args.width, k));
            to = make_float2(to.x + y.of[k].x, to.y + y.of[k].y);
        }
    }
}

__global__ void __launch_bounds__(item_threads) join_kernel(const JoinArgs args) {
    const int64_t n_whole = padded_rows(args.n_row);
    const int64_t n_joined = args.n_each * args.n_channel;
    for (int64_t item = first_item(); item < n_whole * args.width; item += item_step()) {
        const StreamPlace place = stream_place(item, args.width);
        float value = 0;
        if (place.row < args.n_row && place.channel < n_joined) {
            const int64_t named = args.rows ? args.rows[place.row] : args.n_each * place.row;
            const int64_t row = (named < 0 ? ~named : named) + place.channel / args.n_channel;
            value = args.from[fragment_index(row, place.channel % args.n_channel, args.from_width)];
        } else if (place.row < args.n_row && place.channel < n_joined + args.n_relative) {
            value = args.relative[place.row * args.n_relative + place.channel - n_joined];
        }
        args.to[item] = value;
    }
}

__global__ void __launch_bounds__(item_threads) spread_kernel(const SpreadArgs args) {
    const int64_t n_whole = padded_rows(args.n_row);
    for (int64_t item = first_item(); item < n_whole * args.width; item += item_step()) {
        const StreamPlace place = stream_place(item, args.width);
        float value = 0;
        if (place.row < args.n_row && place.channel < args.n_channel) {
            const int64_t channel = place.row % args.n_each * args.n_channel + place.channel;
            const float z = args.z[fragment_index(place.row / args.n_each, channel, args.z_width)];
            value = fmaf(args.scale[place.channel], args.x[item], z);
        }
        args.x[item] = value;
    }
}

}  // namespace

void load_levels() {
    const auto load = [](auto kernel) { check(allow_shared(kernel, 0), "erwin levels"); };
    load(message_kernel);
    load(update_kernel);
    load(join_kernel);
    load(spread_kernel);
}

void message(const DeviceProperties&, const MessageArgs& args, Stream stream) {
    if (args.n_target == 0) return;
    SURROGATE_LAUNCH(message_kernel, item_blocks(32 * args.n_target), item_threads, 0, stream,
                     args);
    check_launch("erwin message");
}

void update(const DeviceProperties&, const UpdateArgs& args, Stream stream) {
    if (args.n_row == 0) return;
    SURROGATE_LAUNCH(update_kernel, item_blocks(32 * args.n_row), item_threads, 0, stream, args);
    check_launch("erwin update");
}

void join(const DeviceProperties&, const JoinArgs& args, Stream stream) {
    if (args.n_row == 0) return;
    SURROGATE_LAUNCH(join_kernel, item_blocks(padded_rows(args.n_row) * args.width), item_threads,
                     0, stream, args);
    check_launch("erwin join");
}

void spread(const DeviceProperties&, const SpreadArgs& args, Stream stream) {
    if (args.n_row == 0) return;
    SURROGATE_LAUNCH(spread_kernel, item_blocks(padded_rows(args.n_row) * args.width), item_threads,
                     0, stream, args);
    check_launch("erwin spread");
}

}  // namespace surrogate::kernels::bsa::cuda
