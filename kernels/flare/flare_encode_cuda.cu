// SPDX-License-Identifier: Apache-2.0
// Encode fused with the chains of keys and values: one pass over x. A block processes 128 or 256
// points at a time. First its warps hold points: norm and both chains, all in registers. Then they
// hold latents: each warp processes tiles of 16 latents over all points of the block. Keys and
// values are passed in shared memory, and each lane keeps its own softmax sums there.
#include "kernels/flare/flare_launch.cuh"

namespace surrogate::kernels::flare::cuda {
namespace {

constexpr float lowest = lowest_score<float>();

template <Operand operand, int width, int variant>
struct Encode : Pass<operand, width, variant> {
    using Base = Pass<operand, width, variant>;
    using P = typename Base::P;
    using Piece = typename Base::Piece;
    using Feed = typename Base::Feed;
    using Base::g, Base::lane, Base::n_group, Base::n_tile, Base::n_warp, Base::t, Base::warp;

    /// Tiles of 16 points: maximum per block; tiles whose scores a warp holds at once.
    static constexpr int row_tiles = Base::tiling.n_warp * n_tile;
    static constexpr int chunk_tiles = Base::tiling.tiles_per_chunk;
    /// Running sums are 2^peak times the sums of a partial.
    static constexpr float peak = peak_of_points(operand);

    const EncodeArgs& args;
    int first_latent_tile, n_latent_tile;  // in this launch, over all heads
    bool stores_k;
    Piece *keys, *values;  // (row_tiles, n_group, 32); values transposed
    float4* sums;          // (n_latent_tile, head_groups + 1, 32): maxima and sums, then values

    __device__ Encode(const EncodeArgs& a, unsigned char* shared, int64_t weight_bytes, int first,
                      int count)
        : args(a), first_latent_tile(first), n_latent_tile(count), stores_k(first == 0) {
        keys = reinterpret_cast<Piece*>(shared + weight_bytes);
        values = keys + row_tiles * n_group * 32;
        sums = reinterpret_cast<float4*>(values + row_tiles * n_group * 32);
    }

    __device__ int head_groups() const { return static_cast<int>(args.shape.head_groups()); }
    __device__ float4* sums_of(int tile) const {
        return sums + static_cast<int64_t>(tile) * (head_groups() + 1) * 32 + lane;
    }

    __device__ void reset() const {
        for (int tile = warp; tile < n_latent_tile; tile += n_warp) {
            float4* s = sums_of(tile);
            s[0] = make_float4(lowest, lowest, 0, 0);
            for (int group = 0; group < head_groups(); ++group)
                s[(group + 1) * 32] = make_float4(0, 0, 0, 0);
        }
    }

    /// Computes norm and both chains of the block's points; writes keys and values to shared
    /// memory.
    __device__ void project(int64_t row, uint32_t mask, Feed& feed) const {
        const int n_channel = static_cast<int>(args.shape.sizes.n_channel());
        const int64_t first = this->first_tile(row);
        float x[n_tile][n_group][4];
#pragma unroll
        for (int tile = 0; tile < n_tile; ++tile) {
            this->load(args.x, first + tile, args.n_point, x[tile]);
            normalise(args.norm, mask, n_channel, x[tile]);
        }
        run_chain<operand>(args.k_proj, Base::layer, feed, x);
#pragma unroll
        for (int tile = 0; tile < n_tile; ++tile) {
            normalise_heads(args.k_norm, mask, static_cast<int>(args.shape.sizes.n_dim),
                            static_cast<int>(args.shape.n_dim_padded), x[tile]);
            store_keys(first + tile, warp * n_tile + tile, x[tile]);
        }
        // The norm is recomputed rather than kept, because registers are scarce.
#pragma unroll
        for (int tile = 0; tile < n_tile; ++tile) {
            this->load(args.x, first + tile, args.n_point, x[tile]);
            normalise(args.norm, mask, n_channel, x[tile]);
        }
        run_chain<operand>(args.v_proj, Base::layer, feed, x);
#pragma unroll
        for (int tile = 0; tile < n_tile; ++tile) {
            if ((first + tile + 1) * tile_rows > args.n_point) clear_rows(first + tile, x[tile]);
            if (args.v_max) raise_maxima(x[tile]);
            Piece* to = values + (warp * n_tile + tile) * n_group * 32 + lane;
#pragma unroll
            for (int group = 0; group < n_group; ++group)
                to[group * 32] = P::transpose(P::piece(x[tile][group]));
        }
    }

    __device__ void store_keys(int64_t tile, int tile_of_block,
                               const float (&k)[n_group][4]) const {
        const bool stores = stores_k && tile * tile_rows < args.n_point;
        Piece* to = static_cast<Piece*>(args.k) + tile * n_group * 32 + lane;
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
            const Piece piece = P::piece(k[group]);
            keys[(tile_of_block * n_group + group) * 32 + lane] = piece;
            if (stores) to[group * 32] = piece;
        }
    }

    /// Clears v of points that do not exist: their probability is 0, and 0 times infinity would be
    /// NaN.
    __device__ void clear_rows(int64_t tile, float (&v)[n_group][4]) const {
        const int64_t point = tile * tile_rows + g;
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                if (point + i / 2 * 8 >= args.n_point) v[group][i] = 0;
            }
        }
    }

    /// Raises v_max of every head to the largest |v| of the tile's points.
    __device__ void raise_maxima(const float (&v)[n_group][4]) const {
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
            float largest = 0;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float size = fabsf(v[group][i]);
                if (size > largest) largest = size;
            }
            for (int distance = 4; distance < 32; distance *= 2)
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffffU, largest, distance));
            const int head = (8 * group + 2 * t) / static_cast<int>(args.shape.n_dim_padded);
            // Non-negative floats have the same order as their bit patterns.
            if (g == 0 && head < args.shape.sizes.n_head)
                atomicMax(reinterpret_cast<int*>(args.v_max) + head,
                          static_cast<int>(as_bits(largest)));
        }
        __syncwarp();  // the following steps move numbers between lanes
    }

    /// Processes one tile of 16 latents of one head over chunk_tiles tiles of points from `row`,
    /// the block's tiles from `first` on.
    __device__ void attend(int tile, int64_t row, int first) const {
        const int all_tile = first_latent_tile + tile;
        const int n_tile_of_head = static_cast<int>(args.shape.latent_tiles());
        const int head = all_tile / n_tile_of_head;
        const int n_head_group = head_groups();
        const int group0 = head * static_cast<int>(args.shape.n_dim_padded) / 8;
        const Piece* query =
            static_cast<const Piece*>(args.queries) +
            (head * n_head_group * n_tile_of_head + all_tile % n_tile_of_head) * 32 + lane;

        float s[2 * chunk_tiles][4] = {};  // 16 latents x 8 points each
        const auto score_group = [&](int group) {
            const Piece q = query[group * n_tile_of_head * 32];
#pragma unroll
            for (int r = 0; r < chunk_tiles; ++r)
                P::scores(s[2 * r], s[2 * r + 1], q,
                          keys[((first + r) * n_group + group0 + group) * 32 + lane]);
        };
        // A separate case: its sums begin with the constant 0, and most models need only this code.
        score_group(0);
        for (int group = 1; group < n_head_group; ++group) score_group(group);
        if (row + 16 * chunk_tiles > args.n_point) hide_rows(row, s);

        float4* own = sums_of(tile);
        const float4 before = own[0];
        float m0 = before.x, m1 = before.y;
#pragma unroll
        for (int r = 0; r < 2 * chunk_tiles; ++r) {
            m0 = fmaxf(m0, fmaxf(s[r][0], s[r][1]));
            m1 = fmaxf(m1, fmaxf(s[r][2], s[r][3]));
        }
        m0 = max_of_quad(m0);
        m1 = max_of_quad(m1);
        const float scale0 = fast_exp2(before.x - m0), scale1 = fast_exp2(before.y - m1);
        float sum0 = before.z * scale0, sum1 = before.w * scale1;
        exponentiate<operand>(m0 - peak, m1 - peak, s, sum0, sum1);
        own[0] = make_float4(m0, m1, sum0, sum1);

        const auto weigh_group = [&](int group) {
            float z[4] = {};  // 16 latents x 8 channels
#pragma unroll
            for (int r = 0; r < chunk_tiles; ++r)
                P::weigh(z, P::left(s[2 * r], s[2 * r + 1]),
                         values[((first + r) * n_group + group0 + group) * 32 + lane]);
            float4& total = own[(group + 1) * 32];
            total = make_float4(total.x * scale0 + z[0], total.y * scale0 + z[1],
                                total.z * scale1 + z[2], total.w * scale1 + z[3]);
        };
        weigh_group(0);
        for (int group = 1; group < n_head_group; ++group) weigh_group(group);
    }

    __device__ void hide_rows(int64_t row, float (&s)[2 * chunk_tiles][4]) const {
#pragma unroll
        for (int r = 0; r < 2 * chunk_tiles; ++r) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                if (row + 8 * r + 2 * t + i >= args.n_point) s[r][i] = s[r][i + 2] = lowest;
            }
        }
    }

    __device__ void attend_all(int64_t row) const {
        for (int tile = warp; tile < n_latent_tile; tile += n_warp) {
            for (int first = 0; first < n_warp * n_tile; first += chunk_tiles) {
                const int64_t at = row + 16 * first;
                if (at < args.n_point) attend(tile, at, first);
            }
        }
    }

    /// Writes the sums to partial `index`.
    __device__ void write(int64_t index) const {
        const auto& [n_head, n_latent, n_dim] = args.shape.sizes;
        for (int tile = warp; tile < n_latent_tile; tile += n_warp) {
            const int all_tile = first_latent_tile + tile;
            const int64_t head = all_tile / args.shape.latent_tiles();
            const int64_t first = all_tile % args.shape.latent_tiles() * 16;
            const float4* own = sums_of(tile);
            constexpr float unit = peak == 0 ? 1.0F : 0x1p-14F;  // exact
            static_assert(peak == 0 || peak == 14);
            const float sum[2] = {unit * whole_sum<operand>(own[0].z),
                                  unit * whole_sum<operand>(own[0].w)};
            const float maximum[2] = {own[0].x, own[0].y};
            // The head's first channel among the channels of its first group: half-heads share one.
            const int offset = static_cast<int>(head * args.shape.n_dim_padded % 8);
            for (int half = 0; half < 2; ++half) {
                const int64_t latent = first + g + 8 * half;
                if (latent >= n_latent) continue;
                float* to =
                    args.partials + ((index * n_head + head) * n_latent + latent) * (n_dim + 2);
                if (t == 0) {
                    to[0] = maximum[half];
                    to[1] = sum[half];
                }
                for (int group = 0; group < head_groups(); ++group) {
                    const float4 z = own[(group + 1) * 32];
                    const float pair[2] = {unit * (half ? z.z : z.x), unit * (half ? z.w : z.y)};
                    for (int i = 0; i < 2; ++i) {
                        const int d = 8 * group + 2 * t + i - offset;
                        if (d >= 0 && d < n_dim) to[2 + d] = pair[i];
                    }
                }
            }
            __syncwarp();  // lanes without a latent have skipped the loop
        }
    }

    __device__ void run(Feed& feed) const {
        const uint32_t mask = this->mask(args.shape);
        const int rows = Base::rows();
        const int64_t unit_rows = args.v_max ? chunk_points : rows;
        const int64_t n_unit = (args.n_point + unit_rows - 1) / unit_rows;
        reset();
        for (int64_t unit = blockIdx.x; unit < n_unit; unit += gridDim.x) {
            const int64_t end = (unit + 1) * unit_rows;
            for (int64_t row = unit * unit_rows; row < end && row < args.n_point; row += rows) {
                project(row, mask, feed);
                __syncthreads();
                attend_all(row);
                __syncthreads();
            }
            if (args.v_max) {
                write(unit);
                reset();
            }
        }
        if (!args.v_max) write(blockIdx.x);
    }
};

template <Operand operand, int width, int variant>
__global__ void __launch_bounds__(tiling_of(operand, width, variant).n_thread(), 1)
    encode_kernel(const EncodeArgs args, int first_latent_tile, int n_latent_tile) {
    SURROGATE_SHARED(shared);
    using Pass = Encode<operand, width, variant>;
    const bool resident = args.geometry.resident;
    const int n_layer = args.k_proj.n_layer + args.v_proj.n_layer;
    const int64_t weight_bytes =
        resident ? static_cast<int64_t>(n_layer) * Pass::layer_operands : 2 * Pass::slice;
    typename Pass::Feed feed(shared, resident, Pass::layer, args.k_proj, args.v_proj);
    Pass(args, shared, weight_bytes, first_latent_tile, n_latent_tile).run(feed);
    feed.finish();
}

}  // namespace

void load_encode(const DeviceProperties& device, Operand operand_, int64_t width_) {
    const auto load = [&]<Operand operand, int width, int variant>() {
        load_kernel(device, encode_kernel<operand, width, variant>, "flare encode");
    };
    for (int variant = 0; variant < n_variant; ++variant)
        with_variant(operand_, width_, variant, load);
}

void encode(const DeviceProperties&, const EncodeArgs& args, Stream stream) {
    const EncodeGeometry& geometry = args.geometry;
    const auto all = static_cast<int>(args.shape.all_latent_tiles());
    const auto launch = [&]<Operand operand, int width, int variant>() {
        for (int pass = 0; pass < geometry.n_pass; ++pass) {
            const int first = pass * static_cast<int>(geometry.tiles_per_pass);
            const int count = first + geometry.tiles_per_pass < all
                                  ? static_cast<int>(geometry.tiles_per_pass)
                                  : all - first;
            SURROGATE_LAUNCH(
                (encode_kernel<operand, width, variant>), static_cast<unsigned>(geometry.n_block),
                static_cast<unsigned>(geometry.n_thread),
                static_cast<size_t>(geometry.shared_bytes), stream, args, first, count);
            check_launch("flare encode");
        }
    };
    with_variant(args.operand, args.shape.width, geometry.variant, launch);
}

}  // namespace surrogate::kernels::flare::cuda
