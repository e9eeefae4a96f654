// SPDX-License-Identifier: Apache-2.0
// Softmax attention of all three branches. A warp processes one head of some tiles of 16 queries.
// Keys are read 16 at a time, from one sequence, from the queries' ball or from chosen blocks.
// Maxima, sums and averages stay in registers over all keys (online softmax, arXiv:2205.14135).
#include <limits>
#include <type_traits>

#include "kernels/attention/softmax_cuda.cuh"
#include "kernels/bsa/bsa_launch.cuh"
#include "kernels/device/products.cuh"
#include "kernels/linear/linear_cuda.hpp"
#include "kernels/linear/row_move_cuda.hpp"

namespace surrogate::kernels::bsa::cuda {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr int most_warps = 8;        // per block: heads of the same queries
constexpr int chunk_distances = 64;  // keys whose distances the warps of a block share
constexpr int distance_row = chunk_distances + 8;  // lanes read 8 rows of pairs from different
                                                   // banks

/// A query and a key: the bias of their score, and whether the query attends to the key.
struct Pair {
    float added = 0;
    bool sees = true;
};
/// Used for keys that all queries attend to, with unbiased scores.
struct SeesAll {
    __device__ Pair operator()(int, int, int) const { return {}; }
};

/// Processes n_tile tiles of queries, heads of up to 8 most_groups channels. A lane has 2 n_tile
/// rows.
template <Operand operand, int most_groups, int n_tile>
struct Pass {
    using P = Products<operand>;
    using Piece = typename P::Piece;
    static constexpr int n_query = 16 * n_tile;
    static constexpr int n_row = 2 * n_tile;
    static constexpr int key_tiles = most_groups <= 2 && !is_wide(operand) ? 2 : 1;  // per step
    static constexpr int n_key = 16 * key_tiles;
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

    /// Returns the query of one of this lane's rows.
    __device__ int row_query(int row) const {
        return row / 2 * 16 + g + row % 2 * 8;
    }

    /// Loads two rows of a group; -1: the row does not exist.
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

    /// Offsets of this lane's rows of n_key keys and of their values; -1: the key does not exist.
    struct Places {
        int64_t keys[key_tiles][2], values[key_tiles][2];
    };
    /// Sets the offsets; item_at(0 ..) returns the keys, -1: none.
    template <class ItemAt>
    __device__ Places places(const ItemAt& item_at) const {
        Places at;
#pragma unroll
        for (int k = 0; k < key_tiles; ++k) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int64_t item = item_at(16 * k + g + 8 * r);
                at.keys[k][r] = item < 0 ? -1 : place_in(args.keys, item, head, t);
                at.values[k][r] = item < 0 ? -1 : place_in(args.values, item, head, t);
            }
        }
        return at;
    }
    /// Advances to the next n_key keys, whole tiles of rows further.
    __device__ void advance(Places& at) const {
        const int64_t key_step = int64_t{n_key} * args.keys.items * args.keys.width;
        const int64_t value_step = int64_t{n_key} * args.values.items * args.values.width;
#pragma unroll
        for (int k = 0; k < key_tiles; ++k) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                at.keys[k][r] += key_step;
                at.values[k][r] += value_step;
            }
        }
    }

    /// Processes n_key keys. pair(row, query, key) returns the pairs of the pass. Only tiles
    /// first_tile .. end_tile - 1 attend to some of the keys.
    template <class PairOf>
    __device__ void step(const Places& at, const PairOf& pair, int first_tile = 0,
                         int end_tile = n_tile) {
        const auto sees = [&](int tile) { return tile >= first_tile && tile < end_tile; };
        float s[n_tile][2 * key_tiles][4] = {};
#pragma unroll
        for (int c = 0; c < most_groups; ++c) {
            if (c >= args.head_groups) break;
#pragma unroll
            for (int k = 0; k < key_tiles; ++k) {
                const Piece key = load(args.keys, at.keys[k], c);
#pragma unroll
                for (int i = 0; i < n_tile; ++i)
                    if (sees(i)) P::scores(s[i][2 * k], s[i][2 * k + 1], query(i, c), key);
            }
        }
        typename P::Left left[n_tile][key_tiles];
#pragma unroll
        for (int i = 0; i < n_tile; ++i) {
            if (!sees(i)) continue;
            weigh_scores(i, pair, s[i]);
#pragma unroll
            for (int k = 0; k < key_tiles; ++k) left[i][k] = P::left(s[i][2 * k], s[i][2 * k + 1]);
        }
#pragma unroll
        for (int c = 0; c < most_groups; ++c) {
            if (c >= args.head_groups) break;
#pragma unroll
            for (int k = 0; k < key_tiles; ++k) {
                const Piece value = P::transpose(load(args.values, at.values[k], c));
#pragma unroll
                for (int i = 0; i < n_tile; ++i)
                    if (sees(i)) P::weigh(y[i][c], left[i][k], value);
            }
        }
    }

    /// Replaces the scores of a tile by probabilities relative to the largest score so far, and
    /// rescales the earlier sums to it.
    template <class PairOf>
    __device__ void weigh_scores(int i, const PairOf& pair, float (&s)[2 * key_tiles][4]) {
#pragma unroll
        for (int j = 0; j < 2 * key_tiles; ++j) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int row = 2 * i + k / 2;
                const Pair p = pair(row, row_query(row), 8 * j + 2 * t + k % 2);
                s[j][k] = p.sees ? s[j][k] + p.added : -infinity;
            }
        }
        float base[2], kept[2];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            float highest = maximum[i][r];
#pragma unroll
            for (int j = 0; j < 2 * key_tiles; ++j)
                highest = fmaxf(highest, fmaxf(s[j][2 * r], s[j][2 * r + 1]));
            highest = max_of_quad(highest);
            // Before the first key there is nothing to rescale.
            kept[r] = maximum[i][r] == highest ? 1.0F : fast_exp2(maximum[i][r] - highest);
            maximum[i][r] = highest;
            base[r] = (highest == -infinity ? 0.0F : highest) - peak_of_points(operand);
            sum[i][r] *= kept[r];
        }
        exponentiate<operand>(base[0], base[1], s, sum[i][0], sum[i][1]);
        if (!__any_sync(~0U, kept[0] != 1.0F || kept[1] != 1.0F)) return;
#pragma unroll
        for (int c = 0; c < most_groups; ++c) {
#pragma unroll
            for (int k = 0; k < 4; ++k) y[i][c][k] *= kept[k / 2];
        }
    }

    /// Writes the averages of all rows, each multiplied by its gate, to their output rows.
    __device__ void finish() const {
#pragma unroll
        for (int i = 0; i < n_tile; ++i) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const float whole = whole_sum<operand>(sum[i][r]);
                const int64_t query = first_query + 16 * i + g + 8 * r;
                if (query >= args.n_query) continue;
                const float share = whole == 0 ? 0.0F : 1.0F / whole;
                for (int64_t k = 0; k < args.repeats; ++k) {
                    const int64_t row = query * args.repeats + k;
                    const float factor = gate(row) * share;
                    const int64_t width = round_up(int64_t{args.n_head} * args.head_groups * 8, 16);
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
                    if (head + 1 == args.n_head && args.n_head * args.head_groups % 2 == 1)
                        *reinterpret_cast<float2*>(to + args.head_groups * group_step) =
                            make_float2(0, 0);
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
    int64_t first = 0;
    auto at = pass.places([](int j) { return int64_t{j}; });
    for (; first + Pass::n_key <= args.n_key; first += Pass::n_key) {
        pass.step(at, SeesAll{});
        pass.advance(at);
    }
    if (first == args.n_key) return;
    const int n = static_cast<int>(args.n_key - first);
    pass.step(pass.places([&](int j) { return j < n ? first + j : -1; }), [&](int, int, int key) {
        return Pair{0, key < n};
    });
}

/// Writes the distances of the pass's queries to chunk_distances keys from `first` on to shared
/// memory. All threads of the block take part: lanes along keys, warps along queries.
template <int n_query>
__device__ void share_distances(const AttendArgs& args, int64_t first_query, int64_t first,
                                float* shared) {
    constexpr int n_lane = 32, n_own = chunk_distances / n_lane, most_axes = 3;
    const int lane = static_cast<int>(threadIdx.x) % n_lane;
    const int n_warp = static_cast<int>(blockDim.x) / n_lane;
    const auto position = [&](int64_t slot, float(&x)[most_axes]) {
        const float* const from = args.relative + slot * args.n_axis;
#pragma unroll
        for (int k = 0; k < most_axes; ++k)
            x[k] = k < args.n_axis && slot < args.n_query ? from[k] : 0.0F;
    };
    float keys[n_own][most_axes];
#pragma unroll
    for (int i = 0; i < n_own; ++i) position(first + lane + i * n_lane, keys[i]);
    __syncthreads();  // the previous chunk is no longer read
    for (int query = static_cast<int>(threadIdx.x) / n_lane; query < n_query; query += n_warp) {
        float x[most_axes];
        position(first_query + query, x);
#pragma unroll
        for (int i = 0; i < n_own; ++i) {
            float square = 0;
#pragma unroll
            for (int k = 0; k < most_axes; ++k) {
                const float d = keys[i][k] - x[k];
                square = fmaf(d, d, square);
            }
            shared[query * distance_row + i * n_lane + lane] = sqrtf(square);
        }
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
    const auto n_ball = static_cast<int>(args.ball), n_slot = static_cast<int>(end - begin);
    // Offsets of the balls of this lane's rows, relative to `begin`.
    int row_begin[Pass::n_row];
#pragma unroll
    for (int row = 0; row < Pass::n_row; ++row) {
        const auto from = static_cast<int>(first_query - begin) + pass.row_query(row);
        row_begin[row] = from / n_ball * n_ball;
    }
    const bool is_one_ball = n_slot == n_ball;
    const float sigma = args.sigma[pass.head];
    auto at = pass.places([&](int j) { return begin + j; });
    for (int chunk = 0; chunk < n_slot; chunk += chunk_distances) {
        share_distances<Pass::n_query>(args, first_query, begin + chunk, shared);
        for (int first = chunk; first < chunk + chunk_distances && first < n_slot;
             first += Pass::n_key) {
            const auto weight = [&](int query, int key) {
                return sigma * shared[query * distance_row + first - chunk + key];
            };
            if (is_one_ball && first + Pass::n_key <= n_slot) {
                pass.step(at, [&](int, int query, int key) {
                    return Pair{weight(query, key), true};
                });
            } else {
                const auto some =
                    pass.places([&](int j) { return first + j < n_slot ? begin + first + j : -1; });
                pass.step(some, [&](int row, int query, int key) {
                    const int from = first + key - row_begin[row];
                    return Pair{weight(query, key),
                                from >= 0 && from < n_ball && first + key < n_slot};
                });
            }
            pass.advance(at);
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
        bool is_member[Pass::n_row];  // of the group: this lane's rows
#pragma unroll
        for (int row = 0; row < Pass::n_row; ++row)
            is_member[row] = pass.row_query(row) >= begin && pass.row_query(row) < end;
        const int first_tile = begin <= 0 ? 0 : static_cast<int>(begin / 16);
        const int end_tile =
            end >= Pass::n_query ? Pass::n_query / 16 : static_cast<int>((end + 15) / 16);
        for (int first = 0; first < n_key; first += Pass::n_key) {
            pass.step(
                pass.places([&](int j) -> int64_t {
                    const int i = first + j;
                    return i < n_key ? int64_t{blocks[i / l]} * l + i % l : -1;
                }),
                [&](int row, int, int key) {
                    return Pair{0, is_member[row] && first + key < n_key};
                },
                first_tile, end_tile);
        }
    }
}

using Keys = AttendArgs::Keys;

template <Operand operand, int most_groups, int n_tile, Keys kind>
__global__ void __launch_bounds__(32 * most_warps) attend_kernel(const AttendArgs args) {
    SURROGATE_SHARED(shared);
    const int n_warp = static_cast<int>(blockDim.x) / 32;
    const int head = static_cast<int>(blockIdx.y) * n_warp + static_cast<int>(threadIdx.x) / 32;
    // Warps without a head repeat the work of the last one, because all warps take part in
    // barriers.
    Pass<operand, most_groups, n_tile> pass(args, static_cast<int64_t>(blockIdx.x) * 16 * n_tile,
                                            min(head, args.n_head - 1));
    if constexpr (kind == Keys::all) attend_all(args, pass);
    if constexpr (kind == Keys::ball) attend_ball(args, pass, reinterpret_cast<float*>(shared));
    if constexpr (kind == Keys::chosen) attend_chosen(args, pass);
    if (head < args.n_head) pass.finish();
}

constexpr int64_t small_head = 16;  // in channels; a warp processes two tiles of such heads

/// Calls body(kernel, tiles of queries) for the instance that matches.
template <class Body>
void with_attend(Keys kind_, Operand operand_, int64_t n_channel, const Body& body) {
    const auto with_kind = [&]<Keys kind>() {
        with_operand(operand_, [&]<Operand operand>() {
            if (n_channel <= small_head) {
                body(attend_kernel<operand, 2, 2, kind>, 2);
            } else {
                body(attend_kernel<operand, 16, 1, kind>, 1);
            }
        });
    };
    switch (kind_) {
        case Keys::all: return with_kind.template operator()<Keys::all>();
        case Keys::ball: return with_kind.template operator()<Keys::ball>();
        case Keys::chosen: return with_kind.template operator()<Keys::chosen>();
    }
}

}  // namespace

void load_attention(const DeviceProperties& device, Operand operand) {
    for (const Keys kind : {Keys::all, Keys::ball, Keys::chosen}) {
        for (const int64_t n_channel : {small_head, largest_head})
            with_attend(kind, operand, n_channel,
                        [&](auto kernel, int) { load_kernel(device, kernel, "bsa attend"); });
    }
}

void attend(const DeviceProperties&, const AttendArgs& args, Stream stream) {
    if (args.n_query == 0) return;
    with_attend(args.kind, args.operand, int64_t{args.head_groups} * 8,
                [&](auto kernel, int n_tile) {
                    const int n_warp = std::min<int>(args.n_head, most_warps);
                    const int64_t n_query = 16 * n_tile;
                    const dim3 grid(static_cast<unsigned>((args.n_query + n_query - 1) / n_query),
                                    static_cast<unsigned>((args.n_head + n_warp - 1) / n_warp));
                    const int64_t n_distance = args.kind == Keys::ball ? n_query * distance_row : 0;
                    SURROGATE_LAUNCH(kernel, grid, static_cast<unsigned>(32 * n_warp),
                                     static_cast<size_t>(4 * n_distance), stream, args);
                });
    check_launch("bsa attend");
}

namespace {

void load(const DeviceProperties& device, Operand operand) {
    load_slots(operand);
    load_levels();
    load_linear(device, operand);
    load_row_move();
    load_choice(device);
    load_attention(device, operand);
}

}  // namespace

const DeviceKernels& kernels() {
    static const DeviceKernels table = {begin,    surrogate::kernels::cuda::linear,
                                        start,    fold,
                                        choose,   attend,
                                        residual, end,
                                        row_move, message,
                                        update,   join,
                                        spread,   load};
    return table;
}

DeviceTable device_table() {
    static const DeviceKernels table = {
        &OnDevice<begin>::call,    &OnDevice<surrogate::kernels::cuda::linear>::call,
        &OnDevice<start>::call,    &OnDevice<fold>::call,
        &OnDevice<choose>::call,   &OnDevice<attend>::call,
        &OnDevice<residual>::call, &OnDevice<end>::call,
        &OnDevice<row_move>::call, &OnDevice<message>::call,
        &OnDevice<update>::call,   &OnDevice<join>::call,
        &OnDevice<spread>::call,   &OnDevice<load>::call};
    return {"bsa", sizeof table, &table};
}

}  // namespace surrogate::kernels::bsa::cuda
