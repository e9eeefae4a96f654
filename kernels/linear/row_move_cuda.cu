// SPDX-License-Identifier: Apache-2.0
// Copies rows of a stream to contiguous memory, and back. Bound by memory.
#include "kernels/device/columns.cuh"
#include "kernels/device/items.cuh"
#include "kernels/device/launch.cuh"
#include "kernels/linear/row_move_cuda.hpp"

namespace surrogate::kernels::cuda {
namespace {

__global__ void __launch_bounds__(item_threads) give_kernel(const MoveArgs args) {
    const bool lost = is_lost(*args.findings);
    for (int64_t i = first_item(); i < args.n_row * args.n_channel; i += item_step()) {
        const int64_t row = i / args.n_channel;
        const int64_t from = fragment_index(args.rows ? args.rows[row] : row,
                                            args.first + i % args.n_channel, args.width);
        args.memory[i] = lost ? nanf("") : args.stream[from];
    }
}

/// Returns the number of rows that are written: the received rows, and those after them up to a
/// whole tile.
__host__ __device__ int64_t rows_written(const MoveArgs& args) {
    const int64_t end = args.begin_row + args.n_row;
    return padded_rows(end) - args.begin_row;
}

__global__ void __launch_bounds__(item_threads) take_kernel(const MoveArgs args) {
    const int64_t n_whole = rows_written(args);
    bool is_number = true;
    for (int64_t i = first_item(); i < n_whole * args.n_channel; i += item_step()) {
        const int64_t row = i / args.n_channel, channel = i % args.n_channel;
        float value = 0;
        if (row < args.n_row)
            value = args.memory[(args.rows ? args.rows[row] : row) * args.n_channel + channel];
        is_number = is_number && value == value;
        args.stream[fragment_index(args.begin_row + row, args.first + channel, args.width)] = value;
    }
    if (!is_number) atomicMax(&args.findings->not_finite, 1);
}

}  // namespace

void load_row_move() {
    check(allow_shared(give_kernel, 0), "rows given");
    check(allow_shared(take_kernel, 0), "rows taken");
}

void row_move(const DeviceProperties&, const MoveArgs& args, Stream stream) {
    if (args.n_row == 0) return;
    if (args.gives) {
        SURROGATE_LAUNCH(give_kernel, item_blocks(args.n_row * args.n_channel), item_threads, 0,
                         stream, args);
    } else {
        SURROGATE_LAUNCH(take_kernel, item_blocks(rows_written(args) * args.n_channel),
                         item_threads, 0, stream, args);
    }
    check_launch("rows moved");
}

}  // namespace surrogate::kernels::cuda
