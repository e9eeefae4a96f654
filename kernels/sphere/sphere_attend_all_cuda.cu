// SPDX-License-Identifier: Apache-2.0
// Attention to all points of a grid of rings, heads of at most 128 channels. A block processes one
// head of four tiles of queries, one per warp, which read the same keys and values in shared
// memory: one step of keys is read while the next one arrives. Several such teams of four warps
// take the steps in turn and join their sums at the end.
#include <algorithm>

#include "kernels/sphere/sphere_launch.cuh"
#include "kernels/sphere/sphere_softmax.cuh"

namespace surrogate::kernels::sphere::cuda {
namespace {

constexpr int team_warps = 4, team_threads = 32 * team_warps;
constexpr int most_teams = 2;

/// Keys and values of n_tile tiles in shared memory; values are transposed.
template <Operand operand, int n_value>
struct Step {
    using Piece = typename Products<operand>::Piece;
    static constexpr int n_tile = is_wide(operand) ? 2 : 4;
    Piece keys[n_tile][n_value][32];
    Piece values[n_tile][n_value][32];
};

/// Brings the steps of keys of a team from global to shared memory. The tiles after the last one
/// repeat it.
template <Operand operand, int n_value, bool is_full>
class Carrier {
public:
    using P = Products<operand>;
    using Piece = typename P::Piece;
    using Keys = Step<operand, n_value>;

    __device__ Carrier(const AttendArgs& args, int head, int64_t n_tile)
        : n_group_(args.n_group),
          head_groups_(is_full ? n_value : args.head_groups),
          last_(n_tile - 1),
          keys_(static_cast<const Piece*>(args.qkv) +
                int64_t{args.n_head + head} * args.head_groups * 32),
          values_(keys_ + int64_t{args.n_head} * args.head_groups * 32),
          warp_(static_cast<int>(threadIdx.x) / 32 % team_warps),
          lane_(static_cast<int>(threadIdx.x) % 32) {}

    /// Begins to copy keys, and loads values into registers.
    __device__ void begin(Keys& to, int64_t first_tile) {
        constexpr int n_vector = 32 * static_cast<int>(sizeof(Piece)) / 16;  // of a group of a tile
        const int thread = static_cast<int>(threadIdx.x) % team_threads;
        for (int tile = 0; tile < Keys::n_tile; ++tile) {
            const Piece* const from = keys_ + min(first_tile + tile, last_) * n_group_ * 32;
            for (int i = thread; i < head_groups_ * n_vector; i += team_threads)
                copy_async_16(reinterpret_cast<uint4*>(&to.keys[tile][0][0]) + i,
                              reinterpret_cast<const uint4*>(from) + i);
        }
#pragma unroll
        for (int i = 0; i < n_held; ++i) {
            const int c = group_of(i);
            if (!is_full && c >= head_groups_) continue;
            const int64_t tile = min(first_tile + tile_of(i), last_);
            held_[i] = values_[(tile * n_group_ + c) * 32 + lane_];
        }
    }
    /// Stores the values. The team's threads wait for each other before they read the step.
    __device__ void end(Keys& to) {
#pragma unroll
        for (int i = 0; i < n_held; ++i) {
            const int c = group_of(i);
            if (is_full || c < head_groups_)
                to.values[tile_of(i)][c][lane_] = P::transpose(held_[i]);
        }
        wait_copies();
    }

private:
    static constexpr int n_held = Keys::n_tile * n_value / team_warps;
    __device__ int group_of(int i) const {
        return (i * team_warps + warp_) % n_value;
    }
    __device__ int tile_of(int i) const {
        return (i * team_warps + warp_) / n_value;
    }

    int64_t n_group_;
    int head_groups_;
    int64_t last_;
    const Piece *keys_, *values_;
    int warp_, lane_;
    Piece held_[n_held];
};

/// A warp's tile of queries; the pieces of its head are in shared memory, read by the same warp of
/// every team.
template <Operand operand, int n_value, bool is_full>
struct Queries {
    using P = Products<operand>;
    using Piece = typename P::Piece;
    using Keys = Step<operand, n_value>;
    const AttendArgs& args;
    int lane = static_cast<int>(threadIdx.x) % 32;
    int64_t n_tile;  ///< of keys
    Piece (*q)[32];  ///< (head_groups)
    RunningSoftmax<operand, n_value> own;

    __device__ Queries(const AttendArgs& args_, int64_t n_tile_, Piece (*to)[32], int64_t tile,
                       int head)
        : args(args_), n_tile(n_tile_), q(to) {
        const auto* const from = static_cast<const Piece*>(args.qkv) +
                                 (tile * args.n_group + int64_t{head} * args.head_groups) * 32 +
                                 lane;
        if (threadIdx.x < team_threads)
            for (int c = 0; c < args.head_groups; ++c) q[c][lane] = from[c * 32];
    }

    /// Groups of the head. Without branches in its loops the compiler reads ahead of the products.
    __device__ int groups() const { return is_full ? n_value : args.head_groups; }

    __device__ void add(const Keys& step, int64_t first_tile) {
        float s[2 * Keys::n_tile][4] = {};
#pragma unroll
        for (int c = 0; c < n_value; c += 2) {
            if (c >= groups()) continue;
            const Piece pair[2] = {q[c][lane], q[min(c + 1, groups() - 1)][lane]};
#pragma unroll
            for (int tile = 0; tile < Keys::n_tile; ++tile) {
                const Piece key = step.keys[tile][c][lane];
                if (c + 1 < groups()) {
                    P::scores(s[2 * tile], s[2 * tile + 1], pair, key,
                              step.keys[tile][c + 1][lane]);
                } else {
                    P::scores(s[2 * tile], s[2 * tile + 1], pair[0], key);
                }
            }
        }
        const int ring_tiles = static_cast<int>(args.grid.ring_tiles());
#pragma unroll
        for (int tile = 0; tile < Keys::n_tile; ++tile)
            add_weight(first_tile + tile, ring_tiles, s[2 * tile], s[2 * tile + 1]);
        own.weigh(s);
#pragma unroll
        for (int tile = 0; tile < Keys::n_tile; ++tile) {
            const auto left = P::left(s[2 * tile], s[2 * tile + 1]);
#pragma unroll
            for (int c = 0; c < n_value; ++c)
                if (c < groups()) P::weigh(own.y[c], left, step.values[tile][c][lane]);
        }
    }

private:
    /// Adds the weight of a tile's ring; keys behind the end of the ring, or of the grid, are
    /// hidden.
    __device__ void add_weight(int64_t tile, int ring_tiles, float (&first)[4],
                               float (&second)[4]) const {
        constexpr int rows = static_cast<int>(tile_rows);
        const bool exists = tile < n_tile;
        const int ring = exists ? static_cast<int>(tile) / ring_tiles : 0;
        const int n_seen =
            exists ? args.grid.n_lon - (static_cast<int>(tile) - ring * ring_tiles) * rows : 0;
        const float weight = args.log_weight[ring];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            first[i] += weight;
            second[i] += weight;
        }
        if (n_seen >= rows) return;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int column = 2 * (lane % 4) + i % 2;
            if (column >= n_seen) first[i] = -infinity;
            if (column + 8 >= n_seen) second[i] = -infinity;
        }
    }
};

/// Queries of the block in shared memory. Behind them lie two steps per team; the sums of all teams
/// replace both at the end.
template <Operand operand, int n_value>
struct BlockQueries {
    typename Products<operand>::Piece of_warp[team_warps][n_value][32];
};
template <Operand operand, int n_value>
constexpr size_t shared_bytes(int n_team) {
    const size_t steps = 2 * static_cast<size_t>(n_team) * sizeof(Step<operand, n_value>);
    return std::max(sizeof(BlockQueries<operand, n_value>) + steps,
                    team_warps * sizeof(Joined<most_teams, n_value>));
}

template <Operand operand, int n_value, bool is_full>
__global__ void __launch_bounds__(most_teams* team_threads)
    attend_all_kernel(const AttendArgs args) {
    SURROGATE_SHARED(shared);
    using Keys = Step<operand, n_value>;
    const int n_team = static_cast<int>(blockDim.x) / team_threads;
    const int team = static_cast<int>(threadIdx.x) / team_threads;
    const int warp = static_cast<int>(threadIdx.x) / 32 % team_warps;
    const int head = static_cast<int>(blockIdx.y);
    const int64_t n_query_tile = args.grid.n_tile(), ring_tiles = args.grid.ring_tiles();
    const int64_t n_tile = args.n_key_ring * ring_tiles;
    const int64_t tile = static_cast<int64_t>(blockIdx.x) * team_warps + warp;

    // Warps without queries bring keys with the others.
    auto& block = *reinterpret_cast<BlockQueries<operand, n_value>*>(shared);
    Queries<operand, n_value, is_full> queries(
        args, n_tile, block.of_warp[warp],
        args.first_ring * ring_tiles + min(tile, n_query_tile - 1), head);
    Carrier<operand, n_value, is_full> carrier(args, head, n_tile);
    Keys* const steps = reinterpret_cast<Keys*>(&block + 1) + 2 * team;
    const int64_t stride = int64_t{n_team} * Keys::n_tile;
    const int64_t n_turn = (n_tile + stride - 1) / stride;
    int64_t first = team * Keys::n_tile;  // tile of the step
    carrier.begin(steps[0], first);
    carrier.end(steps[0]);
    __syncthreads();
    for (int64_t turn = 0; turn < n_turn; ++turn, first += stride) {
        const bool goes_on = turn + 1 < n_turn;
        Keys& next = steps[(turn + 1) % 2];
        if (goes_on) carrier.begin(next, first + stride);
        if (first < n_tile) queries.add(steps[turn % 2], first);
        if (goes_on) carrier.end(next);
        __syncthreads();
    }

    auto& joined = reinterpret_cast<Joined<most_teams, n_value>*>(shared)[warp];
    joined.put(team, queries.own);
    if (n_team < most_teams) joined.put(most_teams - 1, RunningSoftmax<operand, n_value>());
    __syncthreads();
    if (tile >= n_query_tile) return;
    const auto shares = joined.shares();
    auto* const to = static_cast<typename Keys::Piece*>(args.to) +
                     (tile * args.to_groups + int64_t{head} * args.head_groups) * 32 + queries.lane;
    for (int c = team; c < args.head_groups; c += n_team) {
        float y[4];
        joined.average(shares, c, y);
        to[c * 32] = Products<operand>::piece(y);
    }
}

/// Groups that a warp holds: heads of up to 64 channels, and wider ones. A head that fills them has
/// an instance of its own.
constexpr int narrow_head = 8, wide_head = 16;

template <class Body>
void with_head(Operand operand_, int32_t head_groups, const Body& body) {
    with_operand(operand_, [&]<Operand operand>() {
        // Wide operands have no registers for loads that run ahead.
        constexpr bool may_be_full = !is_wide(operand);
        if (head_groups <= narrow_head) {
            if (may_be_full && head_groups == narrow_head) {
                body.template operator()<operand, narrow_head, may_be_full>();
            } else {
                body.template operator()<operand, narrow_head, false>();
            }
        } else if (may_be_full && head_groups == wide_head) {
            body.template operator()<operand, wide_head, may_be_full>();
        } else {
            body.template operator()<operand, wide_head, false>();
        }
    });
}

}  // namespace

void load_attention_to_all(const DeviceProperties& device, Operand operand_) {
    for (const int head_groups : {1, narrow_head, narrow_head + 1, wide_head})
        with_head(operand_, head_groups, [&]<Operand operand, int n_value, bool is_full>() {
            load_kernel(device, attend_all_kernel<operand, n_value, is_full>, "sphere attend");
        });
}

void attend_all(const DeviceProperties& device, const AttendArgs& args, Stream stream) {
    with_head(args.operand, args.head_groups, [&]<Operand operand, int n_value, bool is_full>() {
        int n_team = most_teams;
        if (shared_bytes<operand, n_value>(n_team) > static_cast<size_t>(device.shared_bytes))
            n_team = 1;
        const dim3 grid(static_cast<unsigned>((args.grid.n_tile() + team_warps - 1) / team_warps),
                        static_cast<unsigned>(args.n_head));
        SURROGATE_LAUNCH((attend_all_kernel<operand, n_value, is_full>), grid,
                         static_cast<unsigned>(n_team * team_threads),
                         (shared_bytes<operand, n_value>(n_team)), stream, args);
    });
    check_launch("sphere attend");
}

}  // namespace surrogate::kernels::sphere::cuda
