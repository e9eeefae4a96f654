// SPDX-License-Identifier: Apache-2.0
// Passes that process tokens one by one: from the caller's columns to features, from projections to
// rows and hashes, sums between ranks, from sums to operands, and back to the columns.
#include "kernels/device/columns.cuh"
#include "kernels/device/items.cuh"
#include "kernels/hept/hept_launch.cuh"
#include "kernels/linear/linear_cuda.hpp"
#include "kernels/linear/row_move_cuda.hpp"
#include "kernels/norm/norm_cuda.cuh"

namespace surrogate::kernels::hept::cuda {
namespace {

constexpr int n_thread = 128, n_warp = n_thread / 32;

unsigned blocks_of(int64_t n_item, int64_t of_block) {
    return static_cast<unsigned>((n_item + of_block - 1) / of_block);
}
/// Writes the numbers of the class that a row's last feature selects (zeros without a point) after
/// its other features; returns the resulting number of features.
__device__ int64_t fill_class(const BeginArgs& args, int64_t row, int64_t point, float value) {
    const bool is_class =
        value == floorf(value) && value >= 0 && value < static_cast<float>(args.n_class);
    if (!is_class && args.are_callers) {
        report(&args.findings->bad_input, point, args.n_coordinate + args.n_feature - 1);
    } else if (!is_class) {
        atomicMax(&args.findings->not_finite, 1);
    }
    const float* const from =
        args.classes + (is_class ? static_cast<int64_t>(value) : 0) * args.class_width;
    const int64_t first = args.n_feature - 1;
    for (int64_t c = 0; c < args.class_width; ++c)
        args.features[fragment_index(row, first + c, args.width)] = point >= 0 ? from[c] : 0.0F;
    return first + args.class_width;
}

/// Uses one thread per row. All threads of a warp process all columns and count the findings
/// together.
__global__ void __launch_bounds__(n_thread) begin_kernel(const BeginArgs args) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * n_thread + threadIdx.x;
    const int64_t n_row = padded_rows(args.n_token);
    const int64_t point = row < args.n_token ? args.points[row] : -1;
    const int n_axis = static_cast<int>(args.n_coordinate);
    const int n_column = n_axis + static_cast<int>(args.n_feature);
    int64_t n_feature = args.n_feature;  // includes the numbers of a class
    for (int c = 0; c < n_column; ++c) {
        uint64_t above = 0, below = 0;
        float value = 0;
        if (point >= 0) value = read_column(args.columns[c], point, c, args.findings, above, below);
        const bool is_copy = row >= args.n_point;
        count_outside(is_copy ? 0 : above, is_copy ? 0 : below, args.outside, c);
        if (row >= n_row) continue;
        if (args.classes && c + 1 == n_column) {
            n_feature = fill_class(args, row, point, value);
        } else if (c < n_axis) {
            args.coordinates[fragment_index(row, c, most_coordinates)] = value;
        } else {
            args.features[fragment_index(row, c - n_axis, args.width)] = value;
        }
    }
    if (row >= n_row) return;
    for (int64_t c = n_axis; c < most_coordinates; ++c)
        args.coordinates[fragment_index(row, c, most_coordinates)] = 0;
    for (int64_t c = n_feature; c < args.width; ++c)
        args.features[fragment_index(row, c, args.width)] = 0;
}

// ---- rows and hashes
// -----------------------------------------------------------------------------

/// Returns the float as an integer with the same order; -0 counts as +0.
__device__ uint32_t ordered(float value) {
    const uint32_t bits = as_bits(value + 0.0F);
    return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

/// Returns the stride of a row in shared memory; odd, so that rows begin in different banks.
__device__ int shared_stride(const DeviceHead& head) {
    return static_cast<int>(head.stride()) + 1;
}

/// Copies rows of a tile and a head, [ s x | q | k | v ], to shared memory.
__device__ void fill_rows(const AugmentArgs& args, int64_t tile, int h, float* rows) {
    const DeviceHead& head = args.head;
    const int width = head.coordinate_width, n_row = shared_stride(head);
    const int n_piece = 3 * head.channel_width / 8;
    const auto* pieces = reinterpret_cast<const float4*>(args.qkv) +
                         (tile * (args.width / 8) + static_cast<int64_t>(h) * n_piece) * 32;
    for (int i = static_cast<int>(threadIdx.x); i < n_piece * 32; i += n_thread) {
        const float4 v = pieces[i];
        const int g = i % 32 / 4, channel = width + i / 32 * 8 + i % 4 * 2;
        float* const first = rows + g * n_row + channel;
        float* const second = first + 8 * n_row;
        first[0] = v.x;
        first[1] = v.y;
        second[0] = v.z;
        second[1] = v.w;
    }
    for (int i = static_cast<int>(threadIdx.x); i < tile_rows * width; i += n_thread) {
        const int r = i % width, token = i / width;
        const float x =
            args.coordinates[fragment_index(tile * tile_rows + token, r, most_coordinates)];
        rows[token * n_row + r] =
            r < head.n_coordinate ? args.scale[h * head.n_coordinate + r] * x : 0.0F;
    }
}

/// Returns the hash in a table, or (table = n_table) the square, of the query or key whose channels
/// are at `channels`: in double, channels first.
__device__ double augmented_sum(const AugmentArgs& args, int h, int table, const float* channels,
                                const float* coordinates) {
    const DeviceHead& head = args.head;
    const int d = head.n_channel, n_query = d + head.n_coordinate;
    const bool is_square = table == args.n_table;
    const float* const alpha =
        args.alpha + (static_cast<int64_t>(h) * args.n_table + table) * n_query;
    double sum = 0;
    for (int e = 0; e < n_query; ++e) {
        const float value = e < d ? channels[e] : coordinates[e - d];
        const float factor = is_square ? value : alpha[e];
        sum = __fma_rn(static_cast<double>(value), static_cast<double>(factor), sum);
    }
    return sum;
}

/// Computes rows and hashes. Eight blocks at once: without this number ptxas 13.0 limits itself to
/// 32 registers and spills (sm_90a).
__global__ void __launch_bounds__(n_thread, 8) augment_kernel(const AugmentArgs args) {
    SURROGATE_SHARED(shared);
    auto* const rows = reinterpret_cast<float*>(shared);  // (tile_rows, shared_stride)
    const DeviceHead& head = args.head;
    const int64_t tile = blockIdx.x, first = tile * tile_rows;
    const int h = static_cast<int>(blockIdx.y), n_row = shared_stride(head);
    const int64_t n_left = args.n_token - first;
    const int n_token = static_cast<int>(n_left < tile_rows ? n_left : tile_rows);
    fill_rows(args, tile, h, rows);
    __syncthreads();

    const int stride = static_cast<int>(head.stride());
    float* const to = args.rows + (h * args.n_token + first) * stride;
    for (int i = static_cast<int>(threadIdx.x); i < n_token * stride; i += n_thread)
        to[i] = rows[i / stride * n_row + i % stride];

    constexpr int n_tile_row = static_cast<int>(tile_rows);
    const int n_item = n_tile_row * 2 * (args.n_table + 1);
    for (int i = static_cast<int>(threadIdx.x); i < n_item; i += n_thread) {
        const int token = i % n_tile_row, which = i / n_tile_row % 2;
        const int table = i / (2 * n_tile_row);
        if (token >= n_token) continue;
        const float* const row = rows + token * n_row;
        const float* const channels = row + head.coordinate_width + which * head.channel_width;
        const double sum = augmented_sum(args, h, table, channels, row);
        if (table < args.n_table) {
            const int64_t of_row =
                (static_cast<int64_t>(which) * args.n_table + table) * gridDim.y + h;
            args.hashes[of_row * args.n_token + first + token] = ordered(static_cast<float>(sum));
        } else if (!(sum < largest_square)) {
            atomicMax(&args.findings->not_finite, 1);
        }
    }
}

// ---- sums between ranks -------------------------------------------------------------------------

/// Returns the address of number c of the d + 1 numbers of a sum.
__device__ float* sum_of(const ShareArgs& args, const DeviceSum& sum, int c) {
    const int64_t row = static_cast<int64_t>(sum.row) * args.n_token + sum.token;
    return args.sums + row * args.head.n_sum() +
           (c < args.head.n_channel ? c : args.head.channel_width);
}

/// Clears the sums and the padding, which is not read but must be finite.
__global__ void __launch_bounds__(item_threads) clear_kernel(const ShareArgs args) {
    const int64_t n_sum = args.head.n_sum();
    for (int64_t i = first_item(); i < (args.n_given + args.n_taken) * n_sum; i += item_step()) {
        const int64_t which = i / n_sum;
        const int64_t taken = which - args.n_given;
        if (taken > 0 && args.taken[taken - 1].sum == args.taken[taken].sum) continue;
        const DeviceSum sum = taken < 0 ? args.given[which] : args.taken[taken].sum;
        const int64_t row = static_cast<int64_t>(sum.row) * args.n_token + sum.token;
        args.sums[row * n_sum + i % n_sum] = 0;
    }
}

__global__ void __launch_bounds__(item_threads) give_kernel(const ShareArgs args) {
    const int n_number = args.head.n_channel + 1;
    const bool lost = is_lost(*args.findings);
    for (int64_t i = first_item(); i < args.n_given * n_number; i += item_step()) {
        const float value = *sum_of(args, args.given[i / n_number], static_cast<int>(i % n_number));
        args.memory[i] = lost ? nanf("") : value;
    }
}

/// Adds the contributions of other ranks; the thread of the first contribution to a sum adds all of
/// them.
__global__ void __launch_bounds__(item_threads) take_kernel(const ShareArgs args) {
    const int n_number = args.head.n_channel + 1;
    bool is_number = true;
    for (int64_t i = first_item(); i < args.n_taken * n_number; i += item_step()) {
        int64_t which = i / n_number;
        const int c = static_cast<int>(i % n_number);
        const DeviceSum sum = args.taken[which].sum;
        if (which > 0 && args.taken[which - 1].sum == sum) continue;
        float* const to = sum_of(args, sum, c);
        float value = *to;
        for (; which < args.n_taken && args.taken[which].sum == sum; ++which)
            value += args.memory[static_cast<int64_t>(args.taken[which].from) * n_number + c];
        is_number = is_number && value == value;
        *to = value;
    }
    if (!is_number) atomicMax(&args.findings->not_finite, 1);
}

// ---- to operands
// ---------------------------------------------------------------------------------

/// Processes 16 own tokens of a head per warp; the warp of the last head also fills the groups
/// after it.
template <Operand operand>
__global__ void __launch_bounds__(n_thread) combine_kernel(const CombineArgs args) {
    using P = Products<operand>;
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const int64_t tile =
        static_cast<int64_t>(blockIdx.x) * n_warp + static_cast<int64_t>(threadIdx.x) / 32;
    const int h = static_cast<int>(blockIdx.y), width = args.head.channel_width;
    if (tile * tile_rows >= args.n_own) return;
    const int64_t n_sum = args.head.n_sum();
    const int64_t next_table = args.n_head * args.n_token * n_sum;
    const float* sums[2];
    float inverse[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const int64_t token = tile * tile_rows + g + 8 * r;
        const bool exists = token < args.n_own;
        sums[r] = args.sums + (h * args.n_token + (exists ? token : 0)) * n_sum;
        float den = 0;
        for (int table = 0; table < args.n_table; ++table)
            den += sums[r][table * next_table + width];
        inverse[r] = exists ? 1.0F / den : 0.0F;
    }
    auto* to = static_cast<typename P::Piece*>(args.to) +
               (tile * args.n_group + static_cast<int64_t>(h) * (width / 8)) * 32 + lane;
    const int n_own_group =
        h + 1 < args.n_head ? width / 8 : static_cast<int>(args.n_group) - h * (width / 8);
    for (int group = 0; group < n_own_group; ++group, to += 32) {
        const int c = 8 * group + 2 * t;
        float y[4] = {};
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            if (inverse[r] == 0 || c >= width) continue;
            float2 num = make_float2(0, 0);
            for (int table = 0; table < args.n_table; ++table) {
                const float2 of_table =
                    *reinterpret_cast<const float2*>(sums[r] + table * next_table + c);
                num = make_float2(num.x + of_table.x, num.y + of_table.y);
            }
            y[2 * r] = num.x * inverse[r];
            y[2 * r + 1] = num.y * inverse[r];
        }
        *to = P::piece(y);
    }
}

/// Processes 16 rows per warp. Their channels are read three times, the second and third time from
/// the cache.
template <Operand operand>
__global__ void __launch_bounds__(n_thread) squash_kernel(const SquashArgs args) {
    using P = Products<operand>;
    const int lane = static_cast<int>(threadIdx.x) % 32, t = lane % 4;
    const int64_t tile =
        static_cast<int64_t>(blockIdx.x) * n_warp + static_cast<int64_t>(threadIdx.x) / 32;
    if (tile >= args.n_tile) return;
    const int n_group = static_cast<int>(args.width / 8);
    const auto* from = reinterpret_cast<const float4*>(args.x) + tile * n_group * 32 + lane;
    const float share = 1.0F / static_cast<float>(args.n_channel);
    const auto mean_of = [&](const auto& term) {
        float sums[2] = {};
        for (int group = 0; group < n_group; ++group) {
            const float4 v = from[group * 32];
            const float x[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int i = 0; i < 4; ++i)
                if (8 * group + 2 * t + i % 2 < args.n_channel) sums[i / 2] += term(x[i], i / 2);
        }
        return make_float2(sum_of_quad(sums[0]) * share, sum_of_quad(sums[1]) * share);
    };
    const float2 means = mean_of([](float x, int) { return x; });
    const float mean[2] = {means.x, means.y};
    const float2 squares = mean_of([&](float x, int r) { return (x - mean[r]) * (x - mean[r]); });
    const float scale[2] = {rsqrtf(squares.x + args.norm.eps), rsqrtf(squares.y + args.norm.eps)};
    auto* const to = static_cast<typename P::Piece*>(args.to) + tile * n_group * 32 + lane;
    for (int group = 0; group < n_group; ++group) {
        const float4 v = from[group * 32];
        float x[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int c = 8 * group + 2 * t + i % 2;
            x[i] = tanhf((x[i] - mean[i / 2]) * scale[i / 2] * args.norm.weight[c] +
                         args.norm.bias[c]);
        }
        to[group * 32] = P::piece(x);
    }
}

/// Returns 1 / (1 + exp(-u)), without an exponential that overflows.
__device__ float sigmoid(float u) {
    const double small = exp(-fabs(static_cast<double>(u)));
    return static_cast<float>((u >= 0 ? 1.0 : small) / (1.0 + small));
}

__global__ void __launch_bounds__(n_thread) end_kernel(const EndArgs args) {
    const int64_t token = static_cast<int64_t>(blockIdx.x) * n_thread + threadIdx.x;
    if (token >= args.n_point) return;
    const bool lost = is_lost(*args.findings);
    for (int c = 0; c < args.n_column; ++c) {
        const float y = args.y[fragment_index(token, c, args.width)];
        write_column(args.columns[c], args.points[token], c, args.is_probability ? sigmoid(y) : y,
                     lost, args.findings);
    }
}

size_t augment_bytes(const DeviceHead& head) {
    return static_cast<size_t>(tile_rows * (head.stride() + 1)) * sizeof(float);
}

}  // namespace

void load_tokens(Operand operand_) {
    check(allow_shared(begin_kernel, 0), "hept begin");
    check(allow_shared(augment_kernel, static_cast<int64_t>(augment_bytes(
                                           device_head(largest_head, most_coordinates)))),
          "hept augment");
    check(allow_shared(end_kernel, 0), "hept end");
    for (const auto kernel : {clear_kernel, give_kernel, take_kernel})
        check(allow_shared(kernel, 0), "hept sums between ranks");
    with_operand(operand_, [&]<Operand operand>() {
        check(allow_shared(combine_kernel<operand>, 0), "hept combine");
        check(allow_shared(squash_kernel<operand>, 0), "hept squash");
    });
}

void begin(const DeviceProperties&, const BeginArgs& args, Stream stream) {
    if (args.n_token == 0) return;
    SURROGATE_LAUNCH(begin_kernel, blocks_of(args.n_token, n_thread), n_thread, 0, stream, args);
    check_launch("hept begin");
}

void augment(const DeviceProperties&, const AugmentArgs& args, Stream stream) {
    if (args.n_token == 0) return;
    const dim3 grid(static_cast<unsigned>(row_tiles(args.n_token)),
                    static_cast<unsigned>(args.n_head));
    SURROGATE_LAUNCH(augment_kernel, grid, n_thread, augment_bytes(args.head), stream, args);
    check_launch("hept augment");
}

void share(const DeviceProperties&, const ShareArgs& args, Stream stream) {
    const auto launch = [&](auto kernel, int64_t n_sum) {
        if (n_sum == 0) return;
        SURROGATE_LAUNCH(kernel, item_blocks(n_sum * args.head.n_sum()), item_threads, 0, stream,
                         args);
    };
    switch (args.step) {
        case ShareArgs::Step::clear: launch(clear_kernel, args.n_given + args.n_taken); break;
        case ShareArgs::Step::give: launch(give_kernel, args.n_given); break;
        case ShareArgs::Step::take: launch(take_kernel, args.n_taken); break;
    }
    check_launch("hept sums between ranks");
}

void combine(const DeviceProperties&, const CombineArgs& args, Stream stream) {
    if (args.n_own == 0) return;
    const dim3 grid(blocks_of(row_tiles(args.n_own), n_warp), static_cast<unsigned>(args.n_head));
    with_operand(args.operand, [&]<Operand operand>() {
        SURROGATE_LAUNCH(combine_kernel<operand>, grid, n_thread, 0, stream, args);
    });
    check_launch("hept combine");
}

void squash(const DeviceProperties&, const SquashArgs& args, Stream stream) {
    if (args.n_tile == 0) return;
    with_operand(args.operand, [&]<Operand operand>() {
        SURROGATE_LAUNCH(squash_kernel<operand>, blocks_of(args.n_tile, n_warp), n_thread, 0,
                         stream, args);
    });
    check_launch("hept squash");
}

void end(const DeviceProperties&, const EndArgs& args, Stream stream) {
    if (args.n_point == 0) return;
    SURROGATE_LAUNCH(end_kernel, blocks_of(args.n_point, n_thread), n_thread, 0, stream, args);
    check_launch("hept end");
}

namespace {

void load(const DeviceProperties& device, Operand operand, const DeviceHead& head) {
    load_tokens(operand);
    load_order();
    load_linear(device, operand);
    load_row_move();
    load_attention(head);
}

}  // namespace

const DeviceKernels& kernels() {
    static const DeviceKernels table = {begin,    surrogate::kernels::cuda::linear,
                                        augment,  order,
                                        attend,   combine,
                                        squash,   end,
                                        row_move, share,
                                        load};
    return table;
}

DeviceTable device_table() {
    static const DeviceKernels table = {
        &OnDevice<begin>::call,    &OnDevice<surrogate::kernels::cuda::linear>::call,
        &OnDevice<augment>::call,  &OnDevice<order>::call,
        &OnDevice<attend>::call,   &OnDevice<combine>::call,
        &OnDevice<squash>::call,   &OnDevice<end>::call,
        &OnDevice<row_move>::call, &OnDevice<share>::call,
        &OnDevice<load>::call};
    return {"hept", sizeof table, &table};
}

}  // namespace surrogate::kernels::hept::cuda
