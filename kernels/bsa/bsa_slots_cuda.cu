// SPDX-License-Identifier: Apache-2.0
// Passes that process slots one by one: from the caller's columns to features, the inputs of a
// layer in its order, blocks side by side, residuals, and back to the columns. All are bound by
// memory.
#include "kernels/bsa/bsa_launch.cuh"
#include "kernels/device/columns.cuh"
#include "kernels/device/items.cuh"
#include "kernels/embedding/encode_cuda.cuh"
#include "kernels/norm/norm_cuda.cuh"

namespace surrogate::kernels::bsa::cuda {
namespace {

/// Uses one thread per slot. All threads of a warp process all columns and count the findings
/// together. Copies give the numbers of their originals and report nothing.
__global__ void __launch_bounds__(item_threads) begin_kernel(const BeginArgs args) {
    const int64_t n_row = padded_rows(args.n_slot);
    const int64_t n_whole = (n_row + 31) / 32 * 32;
    const bool is_given = args.features == BeginArgs::Features::given;
    for (int64_t row = first_item(); row < n_whole; row += item_step()) {
        const bool exists = row < args.n_slot;
        const int64_t named = exists ? args.points[row] : 0;
        const bool is_copy = named < 0;
        const int64_t point = is_copy ? ~named : named;
        const auto put = [&](int64_t c, float value) {
            args.to[fragment_index(row, c, args.width)] = value;
        };
        for (int64_t c = 0; c < args.n_feature && is_given; ++c) {
            const int64_t column = args.n_axis + c;
            uint64_t above = 0, below = 0;
            float input = 0;
            if (exists)
                input =
                    read_column(args.columns[column], point, column, args.findings, above, below);
            if (is_copy) above = below = 0;
            count_outside(above, below, args.outside, static_cast<int>(column));
            if (row < n_row) put(c, input);
        }
        if (row >= n_row) continue;
        if (!is_given && exists) {
            const bool is_linear = args.features == BeginArgs::Features::linear;
            encode(args.weight, is_linear ? args.bias : nullptr, args.n_feature,
                   args.positions + row * args.n_axis, static_cast<int>(args.n_axis), put);
        } else if (!is_given) {
            for (int64_t c = 0; c < args.n_feature; ++c) put(c, 0.0F);
        }
        for (int64_t c = args.n_feature; c < args.width; ++c) put(c, 0.0F);
    }
}

/// Processes one tile of the layer's order per warp: lane 4 g + t has rows g and g + 8, channels 2t
/// and 2t + 1 of every group.
template <Operand operand>
__global__ void __launch_bounds__(item_threads) start_kernel(const StartArgs args) {
    using P = Products<operand>;
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const int64_t tile = first_item() / 32;
    if (tile >= row_tiles(args.n_slot)) return;
    const int n_group = static_cast<int>(args.width / 8);
    const float* from[2];
    float relative[2][largest_axes] = {};
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const int64_t row = tile * tile_rows + g + 8 * r;
        from[r] = nullptr;
        if (row >= args.n_slot) continue;
        from[r] = args.x + place_in(args.slots ? args.slots[row] : row, args.width, t);
        for (int k = 0; k < args.n_axis && args.relative; ++k)
            relative[r][k] = args.relative[row * args.n_axis + k];
    }
    const auto load = [&](int r, int group) {
        return from[r] ? *reinterpret_cast<const float2*>(from[r] + group * group_step)
                       : make_float2(0, 0);
    };
    const bool has_norm = args.norm.weight != nullptr;
    float scale[2] = {1, 1};
#pragma unroll
    for (int r = 0; r < 2 && has_norm; ++r) {
        float sum = 0;
        for (int group = 0; group < n_group; ++group) {
            const float2 x = load(r, group);
            const int channel = 8 * group + 2 * t;
            if (channel < args.n_norm) sum += x.x * x.x;
            if (channel + 1 < args.n_norm) sum += x.y * x.y;
        }
        scale[r] = rsqrtf(sum_of_quad(sum) / static_cast<float>(args.n_norm) + args.norm.eps);
    }
    for (int group = 0; group < n_group; ++group) {
        const int channel = 8 * group + 2 * t;
        float2 weight = make_float2(1, 1);
        if (has_norm) weight = *reinterpret_cast<const float2*>(args.norm.weight + channel);
        float u[4];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const float2 x = load(r, group);
            u[2 * r] = x.x * scale[r] * weight.x;
            u[2 * r + 1] = x.y * scale[r] * weight.y;
            if (!args.relative) continue;
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                float added = args.bias[channel + i];
                for (int k = 0; k < args.n_axis; ++k)
                    added =
                        fmaf(args.weight[(channel + i) * args.n_axis + k], relative[r][k], added);
                u[2 * r + i] += added;
            }
        }
        static_cast<typename P::Piece*>(args.to)[(tile * n_group + group) * 32 + lane] =
            P::piece(u);
    }
}

__global__ void __launch_bounds__(item_threads) fold_kernel(const FoldArgs args) {
    const int64_t n_row = args.n_block * args.n_head;
    const int64_t n_item = padded_rows(n_row) * args.width;
    const int n_channel = args.is_mean ? args.n_dim : args.n_dim * static_cast<int>(args.l);
    for (int64_t item = first_item(); item < n_item; item += item_step()) {
        const StreamPlace place = stream_place(item, args.width);
        float value = 0;
        if (place.row < n_row && place.channel < n_channel) {
            const int64_t first = place.row / args.n_head * args.l;
            const int head = static_cast<int>(place.row % args.n_head);
            if (args.is_mean) {
                for (int64_t i = 0; i < args.l; ++i)
                    value += number_in(args.from, first + i, head, place.channel);
                value /= static_cast<float>(args.l);
            } else {
                value = number_in(args.from, first + place.channel / args.n_dim, head,
                                  place.channel % args.n_dim);
            }
        }
        args.to[item] = value;
    }
}

__global__ void __launch_bounds__(item_threads) residual_kernel(const ResidualArgs args) {
    for (int64_t i = first_item(); i < args.n; i += item_step()) {
        float x = args.x[i];
        if (args.adds) args.x[i] = x += args.residual[i];
        args.residual[i] = x;
    }
}

__global__ void __launch_bounds__(item_threads) end_kernel(const EndArgs args) {
    const bool lost = is_lost(*args.findings);
    for (int64_t row = first_item(); row < args.n_slot; row += item_step()) {
        const int64_t point = args.points[row];
        if (point < 0) continue;
        for (int64_t c = 0; c < args.n_column; ++c)
            write_column(args.columns[c], point, c, args.y[fragment_index(row, c, args.width)],
                         lost, args.findings);
    }
}

}  // namespace

void load_slots(Operand operand_) {
    const auto load = [](auto kernel) { check(allow_shared(kernel, 0), "bsa slots"); };
    load(begin_kernel);
    load(fold_kernel);
    load(residual_kernel);
    load(end_kernel);
    with_operand(operand_, [&]<Operand operand>() { load(start_kernel<operand>); });
}

void begin(const DeviceProperties&, const BeginArgs& args, Stream stream) {
    if (args.n_slot == 0) return;
    SURROGATE_LAUNCH(begin_kernel, item_blocks(padded_rows(args.n_slot)), item_threads, 0, stream,
                     args);
    check_launch("bsa begin");
}

void start(const DeviceProperties&, const StartArgs& args, Stream stream) {
    if (args.n_slot == 0) return;
    const int64_t n_block = (row_tiles(args.n_slot) * 32 + item_threads - 1) / item_threads;
    with_operand(args.operand, [&]<Operand operand>() {
        SURROGATE_LAUNCH(start_kernel<operand>, static_cast<unsigned>(n_block), item_threads, 0,
                         stream, args);
    });
    check_launch("bsa start");
}

void fold(const DeviceProperties&, const FoldArgs& args, Stream stream) {
    const int64_t n_row = padded_rows(args.n_block * args.n_head);
    if (n_row == 0) return;
    SURROGATE_LAUNCH(fold_kernel, item_blocks(n_row * args.width), item_threads, 0, stream, args);
    check_launch("bsa fold");
}

void residual(const DeviceProperties&, const ResidualArgs& args, Stream stream) {
    if (args.n == 0) return;
    SURROGATE_LAUNCH(residual_kernel, item_blocks(args.n), item_threads, 0, stream, args);
    check_launch("bsa residual");
}

void end(const DeviceProperties&, const EndArgs& args, Stream stream) {
    if (args.n_slot == 0) return;
    SURROGATE_LAUNCH(end_kernel, item_blocks(args.n_slot), item_threads, 0, stream, args);
    check_launch("bsa end");
}

}  // namespace surrogate::kernels::bsa::cuda
