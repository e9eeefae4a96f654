// SPDX-License-Identifier: Apache-2.0
// The mean of a tree's rows: rows are normalized, summed along the tree in double, and divided.
#include "kernels/device/items.cuh"
#include "kernels/sequoia/sequoia_launch.cuh"

namespace surrogate::kernels::sequoia::cuda {
namespace {

constexpr int n_thread = item_threads;

/// Uses one thread per row: threads of a tile read the same lines of memory together.
__global__ void __launch_bounds__(n_thread) normalise_kernel(const NormArgs args) {
    const int64_t n_row = args.n_tile * tile_rows;
    const double share = 1.0 / static_cast<double>(args.n_channel);
    for (int64_t row = first_item(); row < n_row; row += item_step()) {
        const auto x = [&](int64_t c) {
            return static_cast<double>(args.x[fragment_index(row, c, args.width)]);
        };
        double mean = 0, square = 0;
        for (int64_t c = 0; c < args.n_channel; ++c) mean += x(c);
        mean *= share;
        for (int64_t c = 0; c < args.n_channel; ++c) square += (x(c) - mean) * (x(c) - mean);
        const double scale = 1.0 / sqrt(square * share + static_cast<double>(args.norm.eps));
        for (int64_t c = 0; c < args.width; ++c) {
            float value = 0;
            if (c < args.n_channel)
                value = static_cast<float>((x(c) - mean) * scale) * args.norm.weight[c] +
                        args.norm.bias[c];
            args.to[fragment_index(row, c, args.width)] = value;
        }
    }
}

__device__ double own_row(const SumArgs& args, const DeviceLevel& level, int64_t node, int64_t c) {
    const int64_t row = row_of(level, width_of(args.k), node);
    return static_cast<double>(args.rows[fragment_index(row, c, args.width)]);
}

__global__ void __launch_bounds__(n_thread) sum_kernel(const SumArgs args) {
    const int64_t n_item = (args.end - args.begin) * args.n_channel;
    for (int64_t item = first_item(); item < n_item; item += item_step()) {
        const int64_t node = args.begin + item / args.n_channel, c = item % args.n_channel;
        int64_t end = node * args.k + args.k;
        if (end > args.children.end) end = args.children.end;
        double below = 0;
        for (int64_t child = node * args.k; child < end; ++child) {
            if (args.child_sums) {
                below += args.child_sums[(child - args.children.begin) * args.n_channel + c];
            } else if (args.reads_leaves) {
                below += own_row(args, args.children, child, c);
            }
        }
        const double own = args.reads ? own_row(args, args.level, node, c) : 0;
        args.sums[(node - args.level.begin) * args.n_channel + c] = own + below;
    }
}

__global__ void __launch_bounds__(n_thread) mean_kernel(const MeanArgs args) {
    for (int64_t item = first_item(); item < tile_rows * args.width; item += item_step()) {
        const StreamPlace place = stream_place(item, args.width);
        double sum = 0;
        if (place.row == 0 && place.channel < args.n_channel)
            sum = args.sums ? args.sums[place.channel] : static_cast<double>(args.row[item]);
        args.to[item] = static_cast<float>(sum / static_cast<double>(args.n));
    }
}

}  // namespace

void load_readout() {
    const auto load = [](auto kernel) { check(allow_shared(kernel, 0), "sequoia read-out"); };
    load(normalise_kernel);
    load(sum_kernel);
    load(mean_kernel);
}

void normalise(const DeviceProperties&, const NormArgs& args, Stream stream) {
    if (args.n_tile == 0) return;
    SURROGATE_LAUNCH(normalise_kernel, item_blocks(args.n_tile * tile_rows), n_thread, 0, stream,
                     args);
    check_launch("sequoia normalize");
}

void add_up(const DeviceProperties&, const SumArgs& args, Stream stream) {
    if (args.end == args.begin) return;
    SURROGATE_LAUNCH(sum_kernel, item_blocks((args.end - args.begin) * args.n_channel), n_thread, 0,
                     stream, args);
    check_launch("sequoia sums");
}

void mean(const DeviceProperties&, const MeanArgs& args, Stream stream) {
    SURROGATE_LAUNCH(mean_kernel, item_blocks(tile_rows * args.width), n_thread, 0, stream, args);
    check_launch("sequoia mean");
}

}  // namespace surrogate::kernels::sequoia::cuda
