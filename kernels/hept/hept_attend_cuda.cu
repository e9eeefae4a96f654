// SPDX-License-Identifier: Apache-2.0
// Attention in blocks of tokens. A thread processes one or two queries, whose numbers and sums stay
// in registers, and loops over the keys of its block in shared memory: reading a key takes as long
// as the arithmetic of two queries. Differences are formed in float in every precision: |Q|^2 may
// be 4e6 where |Q - K| is of size one, and an operand of 11 bits would lose all its digits.
#include <algorithm>

#include "kernels/device/products.cuh"
#include "kernels/hept/hept_launch.cuh"

namespace surrogate::kernels::hept::cuda {
namespace {

constexpr int64_t largest_strip = 128;  // queries per block of threads in a long block of tokens
constexpr int64_t most_queries = 320;   // per block of threads; three blocks of 100 are 300
constexpr int64_t most_keys = 64;       // of a block of tokens, in shared memory

/// Assignment of blocks of tokens to blocks of threads: short blocks are processed side by side,
/// long ones are cut into strips of queries.
struct Packing {
    int n_pack = 1;   // blocks of tokens side by side
    int n_strip = 1;  // strips per block
    int share = 0;    // threads per block or strip, with n_query queries each
    int n_thread = 0;
    int chunk = 0;  // keys of each block in shared memory
};

/// Calls body<channel_width, coordinate_width>() for the instance that matches.
template <class Body>
void with_head(const DeviceHead& head, const Body& body) {
    const auto with_width = [&]<int channels>() {
        if (head.coordinate_width == 4) {
            body.template operator()<channels, 4>();
        } else {
            body.template operator()<channels, 8>();
        }
    };
    switch (head.channel_width) {
        case 8: return with_width.template operator()<8>();
        case 16: return with_width.template operator()<16>();
        case 24: return with_width.template operator()<24>();
        case 32: return with_width.template operator()<32>();
        case 48: return with_width.template operator()<48>();
        default: return with_width.template operator()<64>();
    }
}

/// A row in vectors of four: [ s x | q | k | v ].
template <int channels, int coordinates>
struct RowVectors {
    static constexpr int n_x = coordinates / 4, n_channel = channels / 4;
    static constexpr int stride = n_x + 3 * n_channel;
    static constexpr int key = n_x + 2 * n_channel;  // in shared memory: [ s x | k | v ]
};

__device__ inline float add_square(float a, float b, float sum) {
    const float difference = a - b;
    return fmaf(difference, difference, sum);
}

/// Returns exp(-square / 2), 0 below 2^-126; a NaN stays.
__device__ inline float weight_of(float square) {
    return fast_exp2(square * -0.72134752F);  // -log2(e) / 2
}

/// Applies an operation to each element of a.
template <int n_query, int n>
__device__ inline void squares_of(const float4 (&a)[n_query][n], const float4* b,
                                  float (&sums)[n_query]) {
#pragma unroll
    for (int q = 0; q < n_query; ++q) sums[q] = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) {
        const float4 v = b[i];
#pragma unroll
        for (int q = 0; q < n_query; ++q) {
            sums[q] = add_square(a[q][i].x, v.x, sums[q]);
            sums[q] = add_square(a[q][i].y, v.y, sums[q]);
            sums[q] = add_square(a[q][i].z, v.z, sums[q]);
            sums[q] = add_square(a[q][i].w, v.w, sums[q]);
        }
    }
}

template <int n>
__device__ inline float square_of(const float4 (&a)[n]) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) {
        sum = fmaf(a[i].x, a[i].x, sum);
        sum = fmaf(a[i].y, a[i].y, sum);
        sum = fmaf(a[i].z, a[i].z, sum);
        sum = fmaf(a[i].w, a[i].w, sum);
    }
    return sum;
}

/// Gathers keys first .. of the blocks side by side, with all threads; tokens: at the first index
/// of each block.
template <class Row>
__device__ void fetch_keys(const AttendArgs& args, const Packing& packing, int64_t first_block,
                           int first, const float4* rows, const int32_t* tokens, float4* keys) {
    const int n_vector = packing.chunk * Row::key;
    for (int i = static_cast<int>(threadIdx.x); i < packing.n_pack * n_vector;
         i += packing.n_thread) {
        const int64_t b = first_block + i / n_vector;
        const int key = i % n_vector / Row::key, part = i % n_vector % Row::key;
        if (b >= args.n_block) return;
        const DeviceBlock block = args.blocks[b];
        if (first + key >= block.n) continue;
        const int from = part < Row::n_x ? part : part + Row::n_channel;
        const int64_t token = tokens[block.first + first + key];
        copy_async_16(keys + i, rows + token * Row::stride + from);
    }
}

/// Returns the queries per thread: as many as leave registers for three warps per scheduler.
constexpr int queries_of(int channels) {
    return channels <= 24 ? 2 : 1;
}
constexpr int threads_of(int channels) {
    return static_cast<int>(most_queries) / queries_of(channels);
}
/// Returns the number of blocks of threads that a multiprocessor has at once by registers. Without
/// this bound, ptxas 13.0 spills (8 channels, sm_80).
constexpr int blocks_at_once(int channels) {
    return channels <= 32 ? 2 : 1;
}

/// Processes, per block of threads, blocks of tokens side by side or a strip of one, of one table
/// and head.
template <int channels, int coordinates>
__global__ void __launch_bounds__(threads_of(channels), blocks_at_once(channels))
    attend_kernel(const AttendArgs args, const Packing packing) {
    using Row = RowVectors<channels, coordinates>;
    constexpr int n_query = queries_of(channels);
    SURROGATE_SHARED(shared);
    auto* const all_keys = reinterpret_cast<float4*>(shared);  // (n_pack, chunk, Row::key)
    const int64_t first_block = static_cast<int64_t>(blockIdx.x) / packing.n_strip * packing.n_pack;
    const int strip = static_cast<int>(blockIdx.x) % packing.n_strip;
    const int slot = static_cast<int>(threadIdx.x) / packing.share;
    const bool has_block = slot < packing.n_pack && first_block + slot < args.n_block;

    // Threads without a query repeat another one, because all threads take part in barriers.
    const int own_slot = has_block ? slot : 0;
    const DeviceBlock block = args.blocks[first_block + own_slot];
    const int i = strip * packing.share * n_query + static_cast<int>(threadIdx.x) % packing.share;
    const int n_key = has_block && i < block.n ? block.n : 0;
    const int64_t table = blockIdx.y, h = blockIdx.z;
    const int64_t n_row = static_cast<int64_t>(args.n_table) * args.n_head;
    const int64_t row = table * args.n_head + h;
    const auto* const rows =
        reinterpret_cast<const float4*>(args.rows) + h * args.n_token * Row::stride;
    const int32_t* const queries = args.orders + row * args.n_place;
    const int32_t* const tokens = queries + n_row * args.n_place;
    const float4* const keys = all_keys + own_slot * packing.chunk * Row::key;

    float4 query[n_query][Row::n_x + Row::n_channel], sums[n_query][Row::n_channel];
    float den[n_query];
#pragma unroll
    for (int q = 0; q < n_query; ++q) {
        const int place = i + q * packing.share;
        const int64_t token = queries[block.first + (place < n_key ? place : 0)];
#pragma unroll
        for (int e = 0; e < Row::n_x + Row::n_channel; ++e)
            query[q][e] = rows[token * Row::stride + e];
#pragma unroll
        for (int c = 0; c < Row::n_channel; ++c) sums[q][c] = make_float4(0, 0, 0, 0);
        den[q] = 0;
    }
    for (int first = 0; first < args.block_size; first += packing.chunk) {
        __syncthreads();  // the previous chunk is no longer read
        fetch_keys<Row>(args, packing, first_block, first, rows, tokens, all_keys);
        wait_copies();
        __syncthreads();
        const int n = min(packing.chunk, n_key - first);
        for (int j = 0; j < n; ++j) {
            const float4* const key = keys + j * Row::key;
            float weight[n_query];
            squares_of(query, key, weight);
#pragma unroll
            for (int q = 0; q < n_query; ++q) {
                weight[q] = weight_of(weight[q]);
                den[q] += weight[q];
            }
#pragma unroll
            for (int c = 0; c < Row::n_channel; ++c) {
                const float4 v = key[Row::n_x + Row::n_channel + c];
#pragma unroll
                for (int q = 0; q < n_query; ++q) {
                    sums[q][c].x = fmaf(weight[q], v.x, sums[q][c].x);
                    sums[q][c].y = fmaf(weight[q], v.y, sums[q][c].y);
                    sums[q][c].z = fmaf(weight[q], v.z, sums[q][c].z);
                    sums[q][c].w = fmaf(weight[q], v.w, sums[q][c].w);
                }
            }
        }
    }
    if (n_key == 0) return;
    // Read again: this saves one register in the loop, which has none to spare.
    const DeviceBlock again = args.blocks[first_block + own_slot];
    constexpr int n_sum = Row::n_channel + 1;
    auto* const to = reinterpret_cast<float4*>(args.sums) +
                     (int64_t{blockIdx.y} * args.n_head + blockIdx.z) * args.n_token * n_sum;
#pragma unroll
    for (int q = 0; q < n_query; ++q) {
        const int place = i + q * packing.share;
        if (q > 0 && place >= again.n) return;
        if (again.n_zero_key > 0)
            den[q] =
                fmaf(static_cast<float>(again.n_zero_key), weight_of(square_of(query[q])), den[q]);
        auto* const to_query = to + int64_t{queries[again.first + place]} * n_sum;
#pragma unroll
        for (int c = 0; c < Row::n_channel; ++c) to_query[c] = sums[q][c];
        to_query[Row::n_channel] = make_float4(den[q] + static_cast<float>(epsilon), 0, 0, 0);
    }
}

/// Returns the bytes of the keys of one block of tokens.
template <int channels, int coordinates>
constexpr int64_t key_bytes(int64_t chunk) {
    return chunk * RowVectors<channels, coordinates>::key * int64_t{sizeof(float4)};
}

/// Shared memory that a block of threads may use without a raised limit.
constexpr int64_t most_shared = 48 * 1024;

int whole_warps(int64_t n_thread) {
    return static_cast<int>((n_thread + 31) / 32 * 32);
}

/// Returns the packing that leaves the fewest threads idle, with fewer blocks side by side in a
/// tie.
Packing packing_of(int64_t block_size, int64_t n_query, int64_t n_byte_key) {
    Packing best;
    best.chunk = static_cast<int>(std::min(block_size, most_keys));
    if (block_size > largest_strip) {
        best.share = best.n_thread = static_cast<int>(largest_strip / n_query);
        best.n_strip = static_cast<int>((block_size + largest_strip - 1) / largest_strip);
        return best;
    }
    const int64_t share = (block_size + n_query - 1) / n_query;
    best.share = static_cast<int>(share);
    best.n_thread = whole_warps(share);
    for (int n = 2; n * share <= most_queries / n_query; ++n) {
        if (n * best.chunk * n_byte_key > most_shared) break;
        const int n_thread = whole_warps(n * share);
        if (n * best.n_thread > best.n_pack * n_thread) {
            best.n_pack = n;
            best.n_thread = n_thread;
        }
    }
    return best;
}

}  // namespace

void load_attention(const DeviceHead& head) {
    with_head(head, [&]<int channels, int coordinates>() {
        static_assert(key_bytes<channels, coordinates>(most_keys) <= most_shared);
        check(allow_shared(attend_kernel<channels, coordinates>, most_shared), "hept attend");
    });
}

void attend(const DeviceProperties&, const AttendArgs& args, Stream stream) {
    if (args.n_block == 0) return;
    with_head(args.head, [&]<int channels, int coordinates>() {
        const Packing p =
            packing_of(args.block_size, queries_of(channels), key_bytes<channels, coordinates>(1));
        const int64_t n_group = (args.n_block + p.n_pack - 1) / p.n_pack;
        const dim3 grid(static_cast<unsigned>(n_group * p.n_strip),
                        static_cast<unsigned>(args.n_table), static_cast<unsigned>(args.n_head));
        const auto n_byte =
            static_cast<size_t>(key_bytes<channels, coordinates>(int64_t{p.n_pack} * p.chunk));
        SURROGATE_LAUNCH((attend_kernel<channels, coordinates>), grid,
                         static_cast<unsigned>(p.n_thread), n_byte, stream, args, p);
    });
    check_launch("hept attend");
}

}  // namespace surrogate::kernels::hept::cuda
