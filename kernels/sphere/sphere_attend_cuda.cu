// SPDX-License-Identifier: Apache-2.0
// Attention to neighborhoods on a grid of rings, and to all points in heads of more than 128
// channels. A block processes one head of a tile of 16 queries; its warps process the tiles of keys
// in turn and join their sums at the end. Nothing is gathered: the neighbors of a tile are runs of
// whole tiles, whose ends are masked.
#include <algorithm>

#include "kernels/linear/linear_cuda.hpp"
#include "kernels/sphere/sphere_launch.cuh"
#include "kernels/sphere/sphere_softmax.cuh"

namespace surrogate::kernels::sphere::cuda {
namespace {

constexpr int n_warp = 4;  // per block

/// 16 keys of a ring, and the interval that queries attend to: columns u + first .. u + first +
/// count - 1.
struct KeyTile {
    int64_t tile = 0;  ///< index in the grid
    int ring = 0, lon = 0, first = 0, count = 0;
};

/// Iterates over the tiles of keys that the queries of a tile reach, every n_warp-th of them: ring
/// after ring, each once. first_lon: column of the first query.
class KeyWalk {
public:
    __device__ KeyWalk(const AttendArgs& args, int ring, int first_lon, int first)
        : args_(args),
          ring_tiles_(static_cast<int>(args.grid.ring_tiles())),
          first_lon_(first_lon),
          strip_(args.strips ? args.begin[ring] : 0),
          end_(args.strips ? args.begin[ring + 1] : args.n_key_ring),
          next_(first) {
        open();
    }

    __device__ bool next(KeyTile& to) {
        while (strip_ < end_ && next_ >= n_tile_) {
            next_ -= n_tile_;
            ++strip_;
            open();
        }
        if (strip_ >= end_) return false;
        int place = first_tile_ + next_;
        if (place >= ring_tiles_) place -= ring_tiles_;
        to = {int64_t{now_.row} * ring_tiles_ + place, now_.row,
              place * static_cast<int>(tile_rows), now_.first, now_.count};
        next_ += n_warp;
        return true;
    }

private:
    /// Opens the run of tiles of a strip: columns from the first query's first key to the last
    /// query's last key, around the ring.
    __device__ void open() {
        if (strip_ >= end_) return;
        constexpr int rows = static_cast<int>(tile_rows);
        const int n_lon = args_.grid.n_lon;
        if (args_.strips) {
            now_ = args_.strips[strip_];
        } else {
            now_ = {static_cast<int32_t>(strip_), 0, n_lon, 0};
        }
        int begin = first_lon_ + now_.first;
        if (begin >= n_lon) begin -= n_lon;
        const int last = begin + now_.count + rows - 2;
        first_tile_ = begin / rows;
        n_tile_ = min(last, n_lon - 1) / rows - first_tile_ + 1;
        if (last >= n_lon) n_tile_ += min(last - n_lon, n_lon - 1) / rows + 1;
        n_tile_ = min(n_tile_, ring_tiles_);
    }

    const AttendArgs& args_;
    int ring_tiles_, first_lon_;
    int64_t strip_, end_;
    int next_;
    DeviceStrip now_;
    int first_tile_ = 0, n_tile_ = 0;
};

/// Data of the block's queries in a warp: n_value groups of values are its part of the head.
template <Operand operand, int n_value>
struct Part {
    using P = Products<operand>;
    using Piece = typename P::Piece;
    static constexpr int n_piece = 4;  // for scores: two tiles of keys at once
    static constexpr int n_ahead = is_wide(operand) ? 4 : 8;  // groups loaded at once

    const AttendArgs& args;
    const Piece* queries;  // this lane's pieces of all groups of the head, stride 32, in shared
                           // memory
    int lane, g, t;
    int64_t key, value;  // first groups
    int values;          // groups in the part
    int lon;             // column of the first query
    RunningSoftmax<operand, n_value> own;

    __device__ Part(const AttendArgs& args_, const Piece* queries_, int lon_, int head, int part)
        : args(args_),
          queries(queries_ + threadIdx.x % 32),
          lane(static_cast<int>(threadIdx.x) % 32),
          g(lane / 4),
          t(lane % 4),
          key(static_cast<int64_t>(args_.n_head + head) * args_.head_groups),
          value(key + static_cast<int64_t>(args_.n_head) * args_.head_groups + part * n_value),
          values(min(n_value, args_.head_groups - part * n_value)),
          lon(lon_) {}

    /// Returns this lane's pieces of a tile from a group on, stride 32.
    __device__ const Piece* pieces(int64_t tile, int64_t group) const {
        return static_cast<const Piece*>(args.qkv) + (tile * args.n_group + group) * 32 + lane;
    }

    /// Computes weighted scores of a tile of keys, -infinity where a query does not attend to a
    /// key.
    __device__ void weigh_scores(const KeyTile& keys, float (&first)[4], float (&second)[4]) const {
        constexpr int last = static_cast<int>(tile_rows) - 1;
        const int n_lon = args.grid.n_lon;
        const float weight = args.log_weight[keys.ring];
        int start = keys.lon - lon - keys.first;  // of the first key, relative to the first query
        if (start < 0) start += n_lon;
        if (start < 0) start += n_lon;
        const bool sees_all = max(lon, keys.lon) + last < n_lon &&
                              (keys.count >= n_lon || (start >= last && start + last < keys.count));
        if (sees_all) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                first[i] += weight;
                second[i] += weight;
            }
            return;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = g + i / 2 * 8;
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int column = 8 * half + 2 * t + i % 2;
                int offset = start + column - row;
                if (offset < 0) offset += n_lon;
                if (offset >= n_lon) offset -= n_lon;
                const bool sees =
                    lon + row < n_lon && keys.lon + column < n_lon && offset < keys.count;
                float& s = half == 0 ? first[i] : second[i];
                s = sees ? s + weight : -infinity;
            }
        }
    }

    /// Adds two tiles of keys to the sums.
    __device__ void add(const KeyTile& one, const KeyTile& other) {
        float s[n_piece][4] = {};
        const Piece* const first = pieces(one.tile, key);
        const Piece* const second = pieces(other.tile, key);
#pragma unroll n_ahead
        for (int c = 0; c < args.head_groups; ++c) {
            const Piece q = queries[c * 32];
            P::scores(s[0], s[1], q, first[c * 32]);
            P::scores(s[2], s[3], q, second[c * 32]);
        }
        weigh_scores(one, s[0], s[1]);
        weigh_scores(other, s[2], s[3]);
        own.weigh(s);
        take_values(one, s[0], s[1]);
        take_values(other, s[2], s[3]);
    }

private:
    __device__ void take_values(const KeyTile& keys, const float (&first)[4],
                                const float (&second)[4]) {
        const auto left = P::left(first, second);
        const Piece* const from = pieces(keys.tile, value);
        // Groups after the last one repeat it; their sums are not used.
#pragma unroll
        for (int first_group = 0; first_group < n_value; first_group += n_ahead) {
            if (first_group >= values) break;
            Piece v[n_ahead];
#pragma unroll
            for (int c = 0; c < n_ahead; ++c) v[c] = from[min(first_group + c, values - 1) * 32];
#pragma unroll
            for (int c = 0; c < n_ahead; ++c)
                P::weigh(own.y[first_group + c], left, P::transpose(v[c]));
        }
    }
};

template <Operand operand, int n_value>
__global__ void __launch_bounds__(32 * n_warp) attend_kernel(const AttendArgs args) {
    SURROGATE_SHARED(shared);
    using Warp = Part<operand, n_value>;
    auto& joined = *reinterpret_cast<Joined<n_warp, n_value>*>(shared);
    const int n_part = (args.head_groups + n_value - 1) / n_value;
    const int head = static_cast<int>(blockIdx.y) / n_part;
    const int part = static_cast<int>(blockIdx.y) % n_part;
    const int ring_tiles = static_cast<int>(args.grid.ring_tiles());
    const auto tile = static_cast<int>(blockIdx.x);
    const int ring = tile / ring_tiles, lon = tile % ring_tiles * static_cast<int>(tile_rows);
    const int warp = static_cast<int>(threadIdx.x) / 32;

    auto* const queries = reinterpret_cast<typename Warp::Piece*>(shared);
    const auto* const from = static_cast<const typename Warp::Piece*>(args.qkv) +
                             ((int64_t{args.first_ring} * ring_tiles + tile) * args.n_group +
                              int64_t{head} * args.head_groups) *
                                 32;
    for (int i = static_cast<int>(threadIdx.x); i < args.head_groups * 32; i += 32 * n_warp)
        queries[i] = from[i];
    __syncthreads();

    Warp warp_part(args, queries, lon, head, part);
    KeyWalk walk(args, ring, lon, warp);
    KeyTile one, other;
    while (walk.next(one)) {
        if (!walk.next(other)) {  // repeated, with a mask that hides it
            other = one;
            other.count = 0;
        }
        warp_part.add(one, other);
    }
    __syncthreads();  // queries are no longer read
    joined.put(warp, warp_part.own);
    __syncthreads();

    const auto shares = joined.shares();
    auto* const to = static_cast<typename Warp::Piece*>(args.to);
    const int64_t first = static_cast<int64_t>(head) * args.head_groups + part * n_value;
    for (int c = warp; c < warp_part.values; c += n_warp) {
        float y[4];
        joined.average(shares, c, y);
        to[(tile * args.to_groups + first + c) * 32 + warp_part.lane] = Warp::P::piece(y);
    }
}

/// Values that a warp holds: heads of up to 64 channels in one part, wider ones 128 at a time.
/// Parts repeat the scores.
constexpr int narrow_part = 8, wide_part = 16;

template <class Body>
void with_part(Operand operand_, int32_t head_groups, const Body& body) {
    with_operand(operand_, [&]<Operand operand>() {
        if (head_groups <= narrow_part) {
            body.template operator()<operand, narrow_part>();
        } else {
            body.template operator()<operand, wide_part>();
        }
    });
}

}  // namespace

void load_attention(const DeviceProperties& device, Operand operand_) {
    load_attention_to_all(device, operand_);
    with_operand(operand_, [&]<Operand operand>() {
        load_kernel(device, attend_kernel<operand, narrow_part>, "sphere attend");
        load_kernel(device, attend_kernel<operand, wide_part>, "sphere attend");
    });
}

void attend(const DeviceProperties& device, const AttendArgs& args, Stream stream) {
    if (args.grid.n_ring == 0) return;
    if (!args.strips && args.head_groups <= wide_part) return attend_all(device, args, stream);
    with_part(args.operand, args.head_groups, [&]<Operand operand, int n_value>() {
        const int32_t n_part = (args.head_groups + n_value - 1) / n_value;
        const dim3 grid(static_cast<unsigned>(args.grid.n_tile()),
                        static_cast<unsigned>(args.n_head * n_part));
        const auto query_bytes =
            static_cast<size_t>(args.head_groups) * 32 * sizeof(typename Products<operand>::Piece);
        SURROGATE_LAUNCH((attend_kernel<operand, n_value>), grid, 32 * n_warp,
                         std::max(sizeof(Joined<n_warp, n_value>), query_bytes), stream, args);
    });
    check_launch("sphere attend");
}

}  // namespace surrogate::kernels::sphere::cuda
