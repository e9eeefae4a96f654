// SPDX-License-Identifier: Apache-2.0
// Softmax attention of all three branches: a warp takes one head of some tiles of 16 queries; keys
// come 16 at a time, from one sequence, from the queries' ball or from chosen blocks. Maxima, sums
// and averages stay in registers over all keys (online softmax, arXiv:2205.14135).
#include <limits>
#include <type_traits>

#include "kernels/attention/softmax_cuda.cuh"
#include "kernels/bsa/bsa_launch.cuh"
#include "kernels/device/products.cuh"
#include "kernels/linear/linear_cuda.hpp"

namespace surrogate::kernels::bsa::cuda {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr int most_warps = 8;        // of a block: heads of the same queries
constexpr int chunk_distances = 64;  // keys whose distances the warps of a block share
constexpr int distance_row = chunk_distances + 8;  // lanes read 8 rows of pairs: other banks

/// 2^(score - maximum), 0 for what is hidden; NaN stays.
__device__ float power(float score, float maximum) {
    return score == -infinity ? 0.0F : fast_exp2(score - maximum);
}

/// n_tile tiles of queries, heads of up to 8 most_groups channels.
template <Operand operand, int most_groups, int n_tile>
struct Pass {
    using P = Products<operand>;
    using Piece = typename P::Piece;
    static constexpr int n_query = 16 * n_tile;
    static constexpr bool keeps_queries = most_groups <= 4;  // in registers

    const AttendArgs& args;
    const int lane, g, t, head;
    const int64_t first_query;
    Piece queries[keeps_queries ? n_tile : 1][keeps_queries ? most_groups : 1];
    float y[n_tile][most_groups][4] = {};
    float maximum[n_tile][2], sum[n_tile][2] = {};

    __device__ Pass(const AttendArgs& args_, int64_t first, int head_)
        : args(args_),
          lane(static_cast<int>(threadIdx.x) % 32),
          g(lane / 4),
          t(lane % 4),
          head(head_),
          first_query(first) {
#pragma unroll
        for (int i = 0; i < n_tile; ++i) {
            maximum[i][0] = maximum[i][1] = -infinity;
            if constexpr (keeps_queries) {
#pragma unroll
                for (int c = 0; c < most_groups; ++c)
                    if (c < args.head_groups) queries[i][c] = load_query(i, c);
            }
        }
    }

    /// Two rows of a group; -1: no such row.
    __device__ Piece load(const HeadRows& rows, const int64_t (&places)[2], int group) const {
        float c[4] = {};
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            if (places[r] < 0) continue;
            const float2 v =
                *reinterpret_cast<const float2*>(rows.stream + places[r] + group * group_step);
            c[2 * r] = v.x;
            c[2 * r + 1] = v.y;
        }
        return P::piece(c);
    }
    __device__ Piece load_query(int tile, int group) const {
        int64_t places[2];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int64_t query = first_query + 16 * tile + g + 8 * r;
            places[r] = query < args.n_query ? place_in(args.queries, query, head, t) : -1;
        }
        return load(args.queries, places, group);
    }
    __device__ Piece query(int tile, int group) const {
        if constexpr (keeps_queries) {
            return queries[tile][group];
        } else {
            return load_query(tile, group);
        }
    }

    /// 16 keys: item_at(0 .. 15), -1: none. weight(query of the pass, key): what to add to a score,
    /// -infinity to hide the pair. Tiles first_tile .. end_tile - 1 see some of them.
    template <class ItemAt, class Weight>
    __device__ void step(const ItemAt& item_at, const Weight& weight, int first_tile = 0,
                         int end_tile = n_tile) {
        const auto sees = [&](int tile) { return tile >= first_tile && tile < end_tile; };
        const int64_t items[2] = {item_at(g), item_at(g + 8)};
        int64_t keys[2], values[2];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            keys[r] = items[r] < 0 ? -1 : place_in(args.keys, items[r], head, t);
            values[r] = items[r] < 0 ? -1 : place_in(args.values, items[r], head, t);
        }
        float s[n_tile][2][4] = {};
#pragma unroll
        for (int c = 0; c < most_groups; ++c) {
            if (c >= args.head_groups) break;
            const Piece key = load(args.keys, keys, c);
#pragma unroll
            for (int i = 0; i < n_tile; ++i)
                if (sees(i)) P::scores(s[i][0], s[i][1], query(i, c), key);
        }
        typename P::Left left[n_tile];
#pragma unroll
        for (int i = 0; i < n_tile; ++i) {
            if (!sees(i)) continue;
            weigh_scores(i, weight, s[i]);
            left[i] = P::left(s[i][0], s[i][1]);
        }
#pragma unroll
        for (int c = 0; c < most_groups; ++c) {
            if (c >= args.head_groups) break;
            const Piece value = P::transpose(load(args.values, values, c));
#pragma unroll
            for (int i = 0; i < n_tile; ++i)
                if (sees(i)) P::weigh(y[i][c], left[i], value);
        }
    }

    /// Scores of a tile become probabilities beside the largest so far, which puts what was summed in
    /// its place.
    template <class Weight>
    __device__ void weigh_scores(int i, const Weight& weight, float (&s)[2][4]) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const float w = weight(16 * i + g + k / 2 * 8, 8 * j + 2 * t + k % 2);
                s[j][k] = w == -infinity ? w : s[j][k] + w;
            }
        }
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const float before = maximum[i][r];
            const float highest =
                max_of_quad(fmaxf(fmaxf(before, fmaxf(s[0][2 * r], s[0][2 * r + 1])),
                                  fmaxf(s[1][2 * r], s[1][2 * r + 1])));
            maximum[i][r] = highest;
            const float kept = power(before, highest);
            const float peak = highest - peak_of_points(operand);
            float added = 0;
#pragma unroll
            for (int j = 0; j < 2; ++j) {
#pragma unroll
                for (int k = 2 * r; k < 2 * r + 2; ++k) added += s[j][k] = power(s[j][k], peak);
            }
            sum[i][r] = sum[i][r] * kept + sum_of_quad(added);
            if (kept == 1.0F) continue;
#pragma unroll
            for (int c = 0; c < most_groups; ++c) {
                y[i][c][2 * r] *= kept;
                y[i][c][2 * r + 1] *= kept;
            }
        }
    }

    /// Averages of all rows, each through its gate, to the rows that are theirs.
    __device__ void finish() const {
#pragma unroll
        for (int i = 0; i < n_tile; ++i) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int64_t query = first_query + 16 * i + g + 8 * r;
                if (query >= args.n_query) continue;
                const float share = sum[i][r] == 0 ? 0.0F : 1.0F / sum[i][r];
                for (int64_t k = 0; k < args.repeats; ++k) {
                    const int64_t row = query * args.repeats + k;
                    const float factor = gate(row) * share;
                    const int64_t width = int64_t{args.n_head} * args.head_groups * 8;
                    float* const to = args.to +
                                      place_in(args.slots ? args.slots[row] : row, width, t) +
                                      int64_t{head} * args.head_groups * group_step;
#pragma unroll
                    for (int c = 0; c < most_groups; ++c) {
                        if (c >= args.head_groups) break;
                        float2& at = *reinterpret_cast<float2*>(to + c * group_step);
                        const float2 before = args.adds ? at : make_float2(0, 0);
                        at = make_float2(before.x + factor * y[i][c][2 * r],
                                         before.y + factor * y[i][c][2 * r + 1]);
                    }
                }
            }
        }
    }
    __device__ float gate(int64_t row) const {
        if (!args.gates) return 1.0F;
        const int channel = args.gate_first + head * args.gate_step;
        const float x = args.gate_width == 0
                            ? args.gates[channel]
                            : args.gates[fragment_index(row, channel, args.gate_width)];
        return 1.0F / (1.0F + expf(-x));
    }
};

template <class Pass>
__device__ void attend_all(const AttendArgs& args, Pass& pass) {
    for (int64_t first = 0; first < args.n_key; first += 16) {
        pass.step([&](int j) { return first + j < args.n_key ? first + j : -1; },
                  [&](int, int key) { return first + key < args.n_key ? 0.0F : -infinity; });
    }
}

/// Distances of the pass's queries to chunk_distances keys from `first` on, to shared memory, by all
/// threads of the block.
template <int n_query>
__device__ void share_distances(const AttendArgs& args, int64_t first_query, int64_t first,
                                float* shared) {
    __syncthreads();  // nobody reads those of the chunk before
    for (int i = static_cast<int>(threadIdx.x); i < n_query * chunk_distances;
         i += static_cast<int>(blockDim.x)) {
        const int64_t query = first_query + i / chunk_distances, key = first + i % chunk_distances;
        float square = 0;
        for (int k = 0; k < args.n_axis && query < args.n_query && key < args.n_query; ++k) {
            const float d =
                args.relative[key * args.n_axis + k] - args.relative[query * args.n_axis + k];
            square = fmaf(d, d, square);
        }
        shared[i / chunk_distances * distance_row + i % chunk_distances] = sqrtf(square);
    }
    __syncthreads();
}

template <class Pass>
__device__ void attend_ball(const AttendArgs& args, Pass& pass, float* shared) {
    const int64_t first_query = pass.first_query;
    const int64_t end_query =
        first_query + Pass::n_query < args.n_query ? first_query + Pass::n_query : args.n_query;
    const int64_t begin = first_query / args.ball * args.ball;
    const int64_t end = ((end_query - 1) / args.ball + 1) * args.ball;
    const float sigma = args.sigma[pass.head];
    for (int64_t chunk = begin; chunk < end; chunk += chunk_distances) {
        share_distances<Pass::n_query>(args, first_query, chunk, shared);
        for (int first = 0; first < chunk_distances && chunk + first < end; first += 16) {
            const int64_t first_key = chunk + first;
            pass.step(
                [&](int j) { return first_key + j < end ? first_key + j : -1; },
                [&](int query, int key) {
                    const bool sees = first_key + key < end && (first_query + query) / args.ball ==
                                                                   (first_key + key) / args.ball;
                    return sees ? sigma * shared[query * distance_row + first + key] : -infinity;
                });
        }
    }
}

template <class Pass>
__device__ void attend_chosen(const AttendArgs& args, Pass& pass) {
    const int64_t first_query = pass.first_query;
    const int64_t end_query =
        first_query + Pass::n_query < args.n_query ? first_query + Pass::n_query : args.n_query;
    const int n_key = static_cast<int>(args.n_choice * args.l), l = static_cast<int>(args.l);
    for (int64_t group = first_query / args.g; group * args.g < end_query; ++group) {
        const int32_t* const blocks =
            args.chosen + (group * args.n_head + pass.head) * args.n_choice;
        const int64_t begin = group * args.g - first_query, end = begin + args.g;
        const int first_tile = begin <= 0 ? 0 : static_cast<int>(begin / 16);
        const int end_tile =
            end >= Pass::n_query ? Pass::n_query / 16 : static_cast<int>((end + 15) / 16);
        for (int first = 0; first < n_key; first += 16) {
            pass.step(
                [&](int j) -> int64_t {
                    const int i = first + j;
                    return i < n_key ? int64_t{blocks[i / l]} * l + i % l : -1;
                },
                [&](int query, int key) {
                    const bool sees = first + key < n_key && query >= begin && query < end;
                    return sees ? 0.0F : -infinity;
                },
                first_tile, end_tile);
        }
    }
}

template <Operand operand, int most_groups, int n_tile>
__global__ void __launch_bounds__(32 * most_warps) attend_kernel(const AttendArgs args) {
    SURROGATE_SHARED(shared);
    const int n_warp = static_cast<int>(blockDim.x) / 32;
    const int head = static_cast<int>(blockIdx.y) * n_warp + static_cast<int>(threadIdx.x) / 32;
    // Warps without a head go along with the last one: all meet at barriers.
    Pass<operand, most_groups, n_tile> pass(args, static_cast<int64_t>(blockIdx.x) * 16 * n_tile,
                                            min(head, args.n_head - 1));
    switch (args.kind) {
        case AttendArgs::Keys::all: attend_all(args, pass); break;
        case AttendArgs::Keys::ball:
            attend_ball(args, pass, reinterpret_cast<float*>(shared));
            break;
        case AttendArgs::Keys::chosen: attend_chosen(args, pass); break;
    }
    if (head < args.n_head) pass.finish();
}

constexpr int64_t small_head = 16;  // channels, of heads of which a warp takes two tiles

template <class Body>
void with_attend(Operand operand_, int64_t n_channel, const Body& body) {
    with_operand(operand_, [&]<Operand operand>() {
        if (n_channel <= small_head) {
            body(attend_kernel<operand, 2, 2>, 2);
        } else {
            body(attend_kernel<operand, 16, 1>, 1);
        }
    });
}

}  // namespace

void load_attention(const DeviceProperties& device, Operand operand) {
    for (const int64_t n_channel : {small_head, largest_head})
        with_attend(operand, n_channel,
                    [&](auto kernel, int) { load_kernel(device, kernel, "bsa attend"); });
}

void attend(const DeviceProperties&, const AttendArgs& args, Stream stream) {
    if (args.n_query == 0) return;
    with_attend(args.operand, int64_t{args.head_groups} * 8, [&](auto kernel, int n_tile) {
        const int n_warp = std::min<int>(args.n_head, most_warps);
        const int64_t n_query = 16 * n_tile;
        const dim3 grid(static_cast<unsigned>((args.n_query + n_query - 1) / n_query),
                        static_cast<unsigned>((args.n_head + n_warp - 1) / n_warp));
        const int64_t n_distance = args.kind == AttendArgs::Keys::ball ? n_query * distance_row : 0;
        SURROGATE_LAUNCH(kernel, grid, static_cast<unsigned>(32 * n_warp),
                         static_cast<size_t>(4 * n_distance), stream, args);
    });
    check_launch("bsa attend");
}

namespace {

void load(const DeviceProperties& device, Operand operand) {
    load_slots(operand);
    load_linear(device, operand);
    load_choice(device);
    load_attention(device, operand);
}

}  // namespace

const DeviceKernels& kernels() {
    static const DeviceKernels table = {
        begin, surrogate::kernels::cuda::linear, start, fold, choose, attend, residual, end, move,
        load};
    return table;
}

DeviceTable device_table() {
    static const DeviceKernels table = {
        &OnDevice<begin>::call,    &OnDevice<surrogate::kernels::cuda::linear>::call,
        &OnDevice<start>::call,    &OnDevice<fold>::call,
        &OnDevice<choose>::call,   &OnDevice<attend>::call,
        &OnDevice<residual>::call, &OnDevice<end>::call,
        &OnDevice<move>::call,     &OnDevice<load>::call};
    return {"bsa", sizeof table, &table};
}

}  // namespace surrogate::kernels::bsa::cuda
