// SPDX-License-Identifier: Apache-2.0
// Passes that process nodes one by one: from the caller's columns to features, means of children,
// rows that ranks exchange, and back to the columns. All are bound by memory.
#include <type_traits>

#include "kernels/device/columns.cuh"
#include "kernels/device/items.cuh"
#include "kernels/embedding/encode_cuda.cuh"
#include "kernels/sequoia/sequoia_launch.cuh"

namespace surrogate::kernels::sequoia::cuda {
namespace {

constexpr int n_thread = item_threads;

// ---- features -----------------------------------------------------------------------------------

/// Uses one thread per row. All threads of a warp process all columns and count the findings
/// together.
__global__ void __launch_bounds__(n_thread) begin_kernel(const BeginArgs args) {
    const int width = width_of(args.k);
    const int64_t n_row = args.level.n_tile * tile_rows;
    const int64_t n_whole = (n_row + 31) / 32 * 32;
    for (int64_t row = first_item(); row < n_whole; row += item_step()) {
        const int64_t node =
            row < n_row ? node_in(args.level, width, row / tile_rows, row % tile_rows) : -1;
        const bool exists = node >= args.own_begin && node < args.own_end;
        const int64_t leaf = node - args.own_begin;
        const int64_t point = exists && args.points ? args.points[leaf] : leaf;
        const auto put = [&](int64_t c, float value) {
            args.to[fragment_index(row, c, args.width)] = value;
        };
        const bool is_raw = args.features == BeginArgs::Features::none;
        float position[most_positions] = {};
        for (int64_t c = 0; c < args.n_column; ++c) {
            uint64_t above = 0, below = 0;
            float input = 0;
            if (exists) input = read_column(args.columns[c], point, c, args.findings, above, below);
            count_outside(above, below, args.outside, static_cast<int>(c));
            if (row >= n_row) continue;
            if (is_raw && c >= args.n_skipped) put(c - args.n_skipped, input);
            if (!is_raw) {
#pragma unroll
                for (int i = 0; i < most_positions; ++i)
                    if (i == c) position[i] = input;
            }
        }
        if (row >= n_row) continue;
        if (!exists) {
            for (int64_t c = 0; c < args.n_feature; ++c) put(c, 0.0F);
        } else if (!is_raw) {
            const bool is_linear = args.features == BeginArgs::Features::linear;
            encode(args.weight, is_linear ? args.bias : nullptr, args.n_feature, position,
                   static_cast<int>(args.n_position), put);
        }
        for (int64_t c = args.n_feature; c < args.width; ++c) put(c, 0.0F);
    }
}

// ---- nodes above the leaves ---------------------------------------------------------------------

__global__ void __launch_bounds__(n_thread) average_kernel(const AverageArgs args) {
    const int width = width_of(args.k);
    const int64_t n_item = args.parents.n_tile * tile_rows * args.width;
    for (int64_t item = first_item(); item < n_item; item += item_step()) {
        const int64_t row = item / args.width, c = item % args.width;
        const int64_t parent = node_in(args.parents, width, row / tile_rows, row % tile_rows);
        double sum = 0;
        int64_t n = 0;
        if (parent >= 0) {
            int64_t end = parent * args.k + args.k;
            if (end > args.children.end) end = args.children.end;
            for (int64_t i = parent * args.k; i < end; ++i) {
                if (i < args.children.begin) continue;
                const int64_t share = i + 1 == args.children.n ? args.n_last : 1;
                const int64_t from = row_of(args.children, width, i);
                sum += static_cast<double>(share) *
                       static_cast<double>(args.x[fragment_index(from, c, args.width)]);
                n += share;
            }
        }
        const float mean = n > 0 ? static_cast<float>(sum / static_cast<double>(n)) : 0.0F;
        args.x[fragment_index(args.parents.first_tile * tile_rows + row, c, args.width)] = mean;
    }
}

__global__ void __launch_bounds__(n_thread) mark_kernel(const MarkArgs args) {
    const int64_t n_item = args.level.n_tile * tile_rows * args.width;
    const int64_t first = args.level.first_tile * tile_rows * args.width;
    const int64_t first_added = (args.level.first_tile - args.first_tile) * tile_rows * args.width;
    for (int64_t item = first_item(); item < n_item; item += item_step()) {
        const int c = stream_place(item, args.width).channel;
        float value = args.x[first + item];
        if (args.added) value += args.added[first_added + item];
        args.x[first + item] = c == args.marker ? 0.0F : value;
    }
}

// ---- exchange between ranks
// ----------------------------------------------------------------------

/// Returns the address of channel c of a node: in the stream, or among sums.
template <class Number>
__device__ Number& at(const CutArgs& args, int64_t node, int64_t c) {
    if constexpr (std::is_same_v<Number, double>) {
        return args.sums[(node - args.level.begin) * args.channels.n_channel + c];
    } else {
        const int64_t row =
            row_of(args.level, width_of(args.k), node) - args.first_tile * tile_rows;
        return args.stream[fragment_index(row, args.channels.position(c), args.channels.width)];
    }
}

template <class Number>
__global__ void __launch_bounds__(n_thread) pack_kernel(const CutArgs args) {
    const bool failed = is_lost(*args.findings);
    const Number nan = as_float(0x7fc00000U);
    Number* const part = static_cast<Number*>(args.parts) + args.rank * args.part_size;
    const int64_t n_channel = args.channels.n_channel;
    const int64_t n_item = (args.own_end - args.own_begin) * n_channel;
    if (first_item() == 0) part[0] = failed ? nan : Number(0);
    for (int64_t item = first_item(); item < n_item; item += item_step()) {
        const int64_t node = args.own_begin + item / n_channel;
        part[1 + args.first + item] = failed ? nan : at<Number>(args, node, item % n_channel);
    }
}

/// Returns the address of channel c of a node among the parts of all ranks.
template <class Number>
__device__ Number in_parts(const CutArgs& args, int64_t node, int64_t c) {
    int rank = 0;
    while (node >= args.begins[rank + 1]) ++rank;
    const int64_t row = node - args.begins[rank];
    return static_cast<const Number*>(
        args.parts)[rank * args.part_size + 1 + args.first + row * args.channels.n_channel + c];
}

/// Unpacks items: a flag of each rank, then the numbers of all nodes.
template <class Number>
__global__ void __launch_bounds__(n_thread) unpack_kernel(const CutArgs args) {
    const Number largest = std::is_same_v<Number, double> ? largest_double : largest_float;
    const int64_t n_channel = args.channels.n_channel;
    const int64_t n_item = args.n_rank + args.level.n * n_channel;
    bool is_finite = true;
    for (int64_t item = first_item(); item < n_item; item += item_step()) {
        if (item < args.n_rank) {
            const Number flag = static_cast<const Number*>(args.parts)[item * args.part_size];
            is_finite = is_finite && fabs(flag) <= largest;
            continue;
        }
        const int64_t node = (item - args.n_rank) / n_channel;
        const int64_t c = (item - args.n_rank) % n_channel;
        const Number value = in_parts<Number>(args, node, c);
        is_finite = is_finite && fabs(value) <= largest;
        at<Number>(args, node, c) = value;
    }
    if (!is_finite) atomicMax(&args.findings->not_finite, 1);
}

// ---- to the caller ------------------------------------------------------------------------------

__global__ void __launch_bounds__(n_thread) deliver_kernel(const DeliverArgs args) {
    const bool lost = is_lost(*args.from.findings);
    for (int64_t node = first_item(); node < args.from.level.n; node += item_step()) {
        for (int64_t c = 0; c < args.n_column; ++c)
            write_column(args.columns[c], args.first_row + node, c,
                         in_parts<float>(args.from, node, c), lost, args.from.findings);
    }
}

__global__ void __launch_bounds__(n_thread) end_kernel(const EndArgs args) {
    const int width = width_of(args.k);
    const bool lost = is_lost(*args.findings);
    const int64_t n_leaf = args.own_end - args.own_begin;
    for (int64_t leaf = first_item(); leaf < n_leaf; leaf += item_step()) {
        const int64_t row =
            row_of(args.level, width, args.own_begin + leaf) - args.level.first_tile * tile_rows;
        const int64_t point = args.points ? args.points[leaf] : args.first_row + leaf;
        for (int64_t c = 0; c < args.n_column; ++c)
            write_column(args.columns[c], point, c, args.y[fragment_index(row, c, args.width)],
                         lost, args.findings);
    }
}

}  // namespace

void load_nodes() {
    const auto load = [](auto kernel) { check(allow_shared(kernel, 0), "sequoia nodes"); };
    load(begin_kernel);
    load(average_kernel);
    load(mark_kernel);
    load(pack_kernel<float>);
    load(pack_kernel<double>);
    load(unpack_kernel<float>);
    load(unpack_kernel<double>);
    load(deliver_kernel);
    load(end_kernel);
}

void begin(const DeviceProperties&, const BeginArgs& args, Stream stream) {
    if (args.level.n_tile == 0) return;
    SURROGATE_LAUNCH(begin_kernel, item_blocks(args.level.n_tile * tile_rows), n_thread, 0, stream,
                     args);
    check_launch("sequoia begin");
}

void average(const DeviceProperties&, const AverageArgs& args, Stream stream) {
    if (args.parents.n_tile == 0) return;
    SURROGATE_LAUNCH(average_kernel, item_blocks(args.parents.n_tile * tile_rows * args.width),
                     n_thread, 0, stream, args);
    check_launch("sequoia average");
}

void mark(const DeviceProperties&, const MarkArgs& args, Stream stream) {
    if (args.level.n_tile == 0) return;
    SURROGATE_LAUNCH(mark_kernel, item_blocks(args.level.n_tile * tile_rows * args.width), n_thread,
                     0, stream, args);
    check_launch("sequoia mark");
}

void pack(const DeviceProperties&, const CutArgs& args, Stream stream) {
    const int64_t n_item = (args.own_end - args.own_begin) * args.channels.n_channel;
    if (args.sums) {
        SURROGATE_LAUNCH(pack_kernel<double>, item_blocks(n_item + 1), n_thread, 0, stream, args);
    } else {
        SURROGATE_LAUNCH(pack_kernel<float>, item_blocks(n_item + 1), n_thread, 0, stream, args);
    }
    check_launch("sequoia pack");
}

void unpack(const DeviceProperties&, const CutArgs& args, Stream stream) {
    const int64_t n_item = args.level.n * args.channels.n_channel + args.n_rank;
    if (args.sums) {
        SURROGATE_LAUNCH(unpack_kernel<double>, item_blocks(n_item), n_thread, 0, stream, args);
    } else {
        SURROGATE_LAUNCH(unpack_kernel<float>, item_blocks(n_item), n_thread, 0, stream, args);
    }
    check_launch("sequoia unpack");
}

void deliver(const DeviceProperties&, const DeliverArgs& args, Stream stream) {
    if (args.from.level.n == 0) return;
    SURROGATE_LAUNCH(deliver_kernel, item_blocks(args.from.level.n), n_thread, 0, stream, args);
    check_launch("sequoia deliver");
}

void end(const DeviceProperties&, const EndArgs& args, Stream stream) {
    if (args.own_end == args.own_begin) return;
    SURROGATE_LAUNCH(end_kernel, item_blocks(args.own_end - args.own_begin), n_thread, 0, stream,
                     args);
    check_launch("sequoia end");
}

}  // namespace surrogate::kernels::sequoia::cuda
