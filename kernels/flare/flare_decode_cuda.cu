// SPDX-License-Identifier: Apache-2.0
// Decode fused with the following steps of the same point: output projection, residual, norm,
// feed-forward chain, residual. A warp keeps its points in registers throughout; latents are read
// from shared memory if they fit.
#include "kernels/flare/flare_launch.cuh"

namespace surrogate::kernels::flare::cuda {
namespace {

constexpr float lowest = lowest_score<float>();

template <Operand operand, int width, int variant>
struct Decode : Pass<operand, width, variant> {
    using Base = Pass<operand, width, variant>;
    using P = typename Base::P;
    using Piece = typename Base::Piece;
    using Feed = typename Base::Feed;
    using Base::g, Base::lane, Base::n_group, Base::n_tile, Base::n_warp, Base::t, Base::warp;

    /// Tiles of 16 latents whose scores a warp holds at once.
    static constexpr int chunk_tiles = Base::tiling.tiles_per_chunk;

    const DecodeArgs& args;
    const Piece *queries, *latents;  // in shared memory, or at the address in the arguments
    float4* rows_of_warp;            // (n_warp, n_tile, n_group, 32) pieces: first y, then x

    __device__ Decode(const DecodeArgs& a, unsigned char* shared, int64_t weight_bytes,
                      bool latents_fit)
        : args(a),
          queries(static_cast<const Piece*>(a.queries)),
          latents(static_cast<const Piece*>(a.z)) {
        rows_of_warp = reinterpret_cast<float4*>(shared + weight_bytes);
        if (!latents_fit) return;
        auto* own = reinterpret_cast<Piece*>(rows_of_warp + n_warp * n_tile * n_group * 32);
        const int n_piece =
            static_cast<int>(a.shape.all_latent_tiles() * a.shape.head_groups()) * 32;
        for (int i = static_cast<int>(threadIdx.x); i < n_piece;
             i += static_cast<int>(blockDim.x)) {
            own[i] = queries[i];
            own[n_piece + i] = latents[i];
        }
        queries = own;
        latents = own + n_piece;
        __syncthreads();
    }

    /// Returns the slots of a tile of 16 points: each lane reads and writes its own.
    __device__ float4* slots(int tile) const {
        return rows_of_warp + (warp * n_tile + tile) * n_group * 32 + lane;
    }

    /// Running softmax over latents, for points g and g + 8.
    struct Softmax {
        float m0 = lowest, m1 = lowest, sum0 = 0, sum1 = 0;
    };

    /// Channels of y that belong to one head, from the head's first group of channels on.
    struct Head {
        const Piece *keys, *queries, *latents;
        float4* y;
        int n_group;  // of 8 channels each
        bool owns;    // half-heads share a group: true if this lane's channels belong to this head
        int n_tile;   // of 16 latents each
        int n_latent;
    };

    __device__ Head head_of(const Piece* keys, float4* y, int head) const {
        const int n_head_group = static_cast<int>(args.shape.head_groups());
        const int n_padded = static_cast<int>(args.shape.n_dim_padded);
        const int group0 = head * n_padded / 8,
                  n_latent_tile = static_cast<int>(args.shape.latent_tiles());
        const int first = head * n_head_group * n_latent_tile * 32 + lane;
        return {keys + group0 * 32, queries + first,
                latents + first,    y + group0 * 32,
                n_head_group,       n_padded >= 8 || t / 2 == head % 2,
                n_latent_tile,      static_cast<int>(args.shape.sizes.n_latent)};
    }

    /// Processes `count` tiles of latents from tile `first`; y holds running sums until the last of
    /// them.
    template <int count>
    __device__ void attend_chunk(const Head& head, Piece first_key, int first,
                                 Softmax& softmax) const {
        float s[2 * count][4] = {};  // 16 points x 8 latents each
        const auto score_group = [&](int group, Piece k) {
            const Piece* q = head.queries + (group * head.n_tile + first) * 32;
#pragma unroll
            for (int j = 0; j < count; ++j) P::scores(s[2 * j], s[2 * j + 1], k, q[j * 32]);
        };
        // A separate case: its sums begin with the constant 0, and most models need only this code.
        score_group(0, first_key);
        for (int group = 1; group < head.n_group; ++group)
            score_group(group, head.keys[group * 32]);
        if ((first + count) * 16 > head.n_latent)
            hide_latents<count>(head.n_latent - 16 * first, s);

        const float before0 = softmax.m0, before1 = softmax.m1;
        float m0 = before0, m1 = before1;
#pragma unroll
        for (int j = 0; j < 2 * count; ++j) {
            m0 = fmaxf(m0, fmaxf(s[j][0], s[j][1]));
            m1 = fmaxf(m1, fmaxf(s[j][2], s[j][3]));
        }
        m0 = max_of_quad(m0);
        m1 = max_of_quad(m1);
        const float scale0 = fast_exp2(before0 - m0), scale1 = fast_exp2(before1 - m1);
        softmax = {m0, m1, softmax.sum0 * scale0, softmax.sum1 * scale1};
        exponentiate<operand>(m0, m1, s, softmax.sum0, softmax.sum1);

        float share0 = 1, share1 = 1;
        if (first + count == head.n_tile) {
            share0 = fast_reciprocal(whole_sum<operand>(softmax.sum0));
            share1 = fast_reciprocal(whole_sum<operand>(softmax.sum1));
        }
        const auto weigh_group = [&](int group) {
            const Piece* z = head.latents + (group * head.n_tile + first) * 32;
            float sum[4] = {};  // 16 points x 8 channels
#pragma unroll
            for (int j = 0; j < count; ++j)
                P::weigh(sum, P::left(s[2 * j], s[2 * j + 1]), z[j * 32]);
            float4& to = head.y[group * 32];
            const float4 before = first > 0 ? to : make_float4(0, 0, 0, 0);
            if (head.owns)
                to = make_float4(
                    (before.x * scale0 + sum[0]) * share0, (before.y * scale0 + sum[1]) * share0,
                    (before.z * scale1 + sum[2]) * share1, (before.w * scale1 + sum[3]) * share1);
        };
        weigh_group(0);
        for (int group = 1; group < head.n_group; ++group) weigh_group(group);
    }

    /// Writes y of one head for a tile of 16 points to the slots of its groups; first_key is
    /// keys[0].
    __device__ void attend(const Head& head, Piece first_key) const {
        Softmax softmax;
        int first = 0;
        for (; first + chunk_tiles <= head.n_tile; first += chunk_tiles)
            attend_chunk<chunk_tiles>(head, first_key, first, softmax);
        if constexpr (chunk_tiles > 4) {
            if (head.n_tile - first >= 4) {
                attend_chunk<4>(head, first_key, first, softmax);
                first += 4;
            }
        }
        if (head.n_tile - first >= 2) {
            attend_chunk<2>(head, first_key, first, softmax);
            first += 2;
        }
        if (first < head.n_tile) attend_chunk<1>(head, first_key, first, softmax);
    }

    template <int count>
    __device__ void hide_latents(int n_left, float (&s)[2 * count][4]) const {
#pragma unroll
        for (int j = 0; j < 2 * count; ++j) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (8 * j + 2 * t + i >= n_left) s[j][i] = s[j][i + 2] = lowest;
            }
        }
    }

    __device__ void read_slots(float (&x)[n_tile][n_group][4]) const {
#pragma unroll
        for (int tile = 0; tile < n_tile; ++tile) {
            const float4* from = slots(tile);
#pragma unroll
            for (int group = 0; group < n_group; ++group) {
                const float4 v = from[group * 32];
                x[tile][group][0] = v.x;
                x[tile][group][1] = v.y;
                x[tile][group][2] = v.z;
                x[tile][group][3] = v.w;
            }
        }
    }

    __device__ void run(Feed& feed) const {
        const uint32_t mask = this->mask(args.shape);
        const int n_head = static_cast<int>(args.shape.sizes.n_head);
        const int n_channel = static_cast<int>(args.shape.sizes.n_channel());
        const int rows = Base::rows();
        const int64_t n_unit = (args.n_point + rows - 1) / rows;
        // Channels that belong to no head are not written again.
        for (int tile = 0; tile < n_tile; ++tile) {
            for (int group = 0; group < n_group; ++group)
                slots(tile)[group * 32] = make_float4(0, 0, 0, 0);
        }
        for (int64_t unit = blockIdx.x; unit < n_unit; unit += gridDim.x) {
            const int64_t first = this->first_tile(unit * rows);
            for (int tile = 0; tile < n_tile; ++tile) {
                if ((first + tile) * tile_rows >= args.n_point) break;
                const Piece* keys =
                    static_cast<const Piece*>(args.k) + (first + tile) * n_group * 32 + lane;
                // Keys are read from memory: the next head's keys are loaded while this head is
                // computed.
                Piece ahead = head_of(keys, slots(tile), 0).keys[0];
                for (int head = 0; head < n_head; ++head) {
                    const Piece first_key = ahead;
                    if (head + 1 < n_head) ahead = head_of(keys, slots(tile), head + 1).keys[0];
                    attend(head_of(keys, slots(tile), head), first_key);
                }
            }
            float x[n_tile][n_group][4];
            read_slots(x);
            run_chain<operand>(args.out_proj, Base::layer, feed, x);
#pragma unroll
            for (int tile = 0; tile < n_tile; ++tile) {
                add_rows(first + tile, slots(tile), x[tile]);
                normalise(args.norm, mask, n_channel, x[tile]);
            }
            run_chain<operand>(args.ffn, Base::layer, feed, x);
#pragma unroll
            for (int tile = 0; tile < n_tile; ++tile) {
                finish_rows(first + tile, slots(tile), x[tile]);
            }
        }
    }

    /// Adds the stream of the tile's points to x; also writes the sum to the slots, for the second
    /// residual.
    __device__ void add_rows(int64_t tile, float4* to, float (&x)[n_group][4]) const {
        const auto* stream = reinterpret_cast<const float4*>(args.x) + tile * n_group * 32 + lane;
        const bool exists = tile * tile_rows < args.n_point;
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
            const float4 v = exists ? stream[group * 32] : make_float4(0, 0, 0, 0);
            x[group][0] += v.x;
            x[group][1] += v.y;
            x[group][2] += v.z;
            x[group][3] += v.w;
            to[group * 32] = make_float4(x[group][0], x[group][1], x[group][2], x[group][3]);
        }
    }

    /// Writes slots + x to the stream. Slots of channels without a head are reset to zero.
    __device__ void finish_rows(int64_t tile, float4* slot, const float (&x)[n_group][4]) const {
        auto* stream = reinterpret_cast<float4*>(args.x) + tile * n_group * 32 + lane;
        const bool exists = tile * tile_rows < args.n_point;
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
            const float4 v = slot[group * 32];
            if (exists)
                stream[group * 32] = make_float4(v.x + x[group][0], v.y + x[group][1],
                                                 v.z + x[group][2], v.w + x[group][3]);
            slot[group * 32] = make_float4(0, 0, 0, 0);
        }
    }
};

template <Operand operand, int width, int variant>
__global__ void __launch_bounds__(tiling_of(operand, width, variant).n_thread(), 1)
    decode_kernel(const DecodeArgs args, int weight_bytes, bool resident, bool latents_fit) {
    SURROGATE_SHARED(shared);
    using Pass = Decode<operand, width, variant>;
    typename Pass::Feed feed(shared, resident, Pass::layer, args.out_proj, args.ffn);
    Pass(args, shared, weight_bytes, latents_fit).run(feed);
    feed.finish();
}

}  // namespace

void load_decode(const DeviceProperties& device, Operand operand_, int64_t width_) {
    const auto load = [&]<Operand operand, int width, int variant>() {
        load_kernel(device, decode_kernel<operand, width, variant>, "flare decode");
    };
    for (int variant = 0; variant < n_variant; ++variant)
        with_variant(operand_, width_, variant, load);
}

void decode(const DeviceProperties& device, const DecodeArgs& args, Stream stream) {
    if (args.n_point == 0) return;
    const auto launch = [&]<Operand operand, int width, int variant>() {
        const Tiling tiling =
            tiling_of(operand, width, variant).for_points(args.n_point, device.n_multiprocessor);
        const int64_t rows = tiling.block_rows();
        const int64_t slots = rows * width * static_cast<int64_t>(sizeof(float));
        const int64_t latents = 2 * latent_bytes(operand, args.shape);
        const int64_t n_layer = args.out_proj.n_layer + args.ffn.n_layer;
        // Latents come first: all of them are read for every tile of points, a weight only once.
        const bool latents_fit =
            slots + latents + 2 * slice_bytes(operand, width) <= device.shared_bytes;
        const int64_t fixed = slots + (latents_fit ? latents : 0);
        const WeightRoom weights(operand, width, n_layer, device.shared_bytes - fixed);
        const int64_t shared = fixed + weights.bytes;
        SURROGATE_LAUNCH((decode_kernel<operand, width, variant>),
                         pass_blocks(device, args.n_point, rows), tiling.n_thread(),
                         static_cast<size_t>(shared), stream, args, static_cast<int>(weights.bytes),
                         weights.resident, latents_fit);
        check_launch("flare decode");
    };
    with_variant(args.operand, args.shape.width, args.variant, launch);
}

}  // namespace surrogate::kernels::flare::cuda
