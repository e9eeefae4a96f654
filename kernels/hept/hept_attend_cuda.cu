// SPDX-License-Identifier: Apache-2.0
// Attention in blocks of tokens: a thread takes a query, whose numbers and sums stay in registers,
// and goes through the keys of its block, which lie in shared memory and are read by all threads at
// once. Differences are formed in float in every precision: |Q|^2 may be 4e6 where |Q - K| is of
// size one, and an operand of 11 bits would leave nothing of it.
#include "kernels/device/products.cuh"
#include "kernels/hept/hept_launch.cuh"

namespace surrogate::kernels::hept::cuda {
namespace {

constexpr int largest_strip = 128;  // queries of a block of threads
constexpr int key_chunk = 64;       // keys in shared memory

/// Calls body<channel_width, coordinate_width>() for the instance that fits.
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

/// exp(-square / 2), 0 below 2^-126; NaN stays.
__device__ inline float weight_of(float square) {
    return fast_exp2(square * -0.72134752F);  // -log2(e) / 2
}

template <int n>
__device__ inline float square_of(const float4 (&a)[n], const float4* b) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) {
        const float4 v = b[i];
        sum = add_square(a[i].x, v.x, sum);
        sum = add_square(a[i].y, v.y, sum);
        sum = add_square(a[i].z, v.z, sum);
        sum = add_square(a[i].w, v.w, sum);
    }
    return sum;
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

/// Keys first .. of a block, gathered by all threads.
template <int channels, int coordinates>
__device__ void fetch_keys(const float4* rows, const int32_t* tokens, int n, float4* keys) {
    using Row = RowVectors<channels, coordinates>;
    for (int i = static_cast<int>(threadIdx.x); i < n * Row::key;
         i += static_cast<int>(blockDim.x)) {
        const int key = i / Row::key, part = i % Row::key;
        const int from = part < Row::n_x ? part : part + Row::n_channel;
        copy_async_16(keys + i, rows + static_cast<int64_t>(tokens[key]) * Row::stride + from);
    }
}

/// A block of threads: a strip of the queries of one block of tokens, one table and head.
template <int channels, int coordinates>
__global__ void __launch_bounds__(largest_strip) attend_kernel(const AttendArgs args, int table) {
    using Row = RowVectors<channels, coordinates>;
    SURROGATE_SHARED(shared);
    auto* const keys = reinterpret_cast<float4*>(shared);  // (key_chunk, Row::key)
    const int strip_size = static_cast<int>(blockDim.x);
    const int n_strip = static_cast<int>((args.block_size + strip_size - 1) / strip_size);
    const DeviceBlock block = args.blocks[blockIdx.x / n_strip];
    const int i =
        static_cast<int>(blockIdx.x) % n_strip * strip_size + static_cast<int>(threadIdx.x);
    if (i - static_cast<int>(threadIdx.x) >= block.n) return;  // all threads of this strip
    const int64_t h = blockIdx.y, n_row = static_cast<int64_t>(args.n_table) * args.n_head;
    const int64_t row = table * static_cast<int64_t>(args.n_head) + h;
    const auto* const rows =
        reinterpret_cast<const float4*>(args.rows) + h * args.n_token * Row::stride;
    const int32_t* const queries = args.orders + row * args.n_token + block.first;
    const int32_t* const tokens = queries + n_row * args.n_token;

    // Threads without a query go along with another one: all meet at barriers.
    const int64_t token = queries[i < block.n ? i : block.n - 1];
    float4 query[Row::n_x + Row::n_channel], sums[Row::n_channel];
#pragma unroll
    for (int e = 0; e < Row::n_x + Row::n_channel; ++e) query[e] = rows[token * Row::stride + e];
#pragma unroll
    for (int c = 0; c < Row::n_channel; ++c) sums[c] = make_float4(0, 0, 0, 0);
    float den = 0;
    for (int first = 0; first < block.n; first += key_chunk) {
        const int n = min(key_chunk, block.n - first);
        __syncthreads();  // nobody reads the chunk before
        fetch_keys<channels, coordinates>(rows, tokens + first, n, keys);
        wait_copies();
        __syncthreads();
        for (int j = 0; j < n; ++j) {
            const float4* const key = keys + j * Row::key;
            const float weight = weight_of(square_of(query, key));
            den += weight;
#pragma unroll
            for (int c = 0; c < Row::n_channel; ++c) {
                const float4 v = key[Row::n_x + Row::n_channel + c];
                sums[c].x = fmaf(weight, v.x, sums[c].x);
                sums[c].y = fmaf(weight, v.y, sums[c].y);
                sums[c].z = fmaf(weight, v.z, sums[c].z);
                sums[c].w = fmaf(weight, v.w, sums[c].w);
            }
        }
    }
    if (i >= block.n) return;
    if (block.n_zero_key > 0)
        den = fmaf(static_cast<float>(block.n_zero_key), weight_of(square_of(query)), den);
    den += static_cast<float>(epsilon);

    // One block of each table has the token: tables follow each other and are added in place.
    constexpr int n_sum = Row::n_channel + 1;
    auto* const to = reinterpret_cast<float4*>(args.sums) + (h * args.n_token + token) * n_sum;
#pragma unroll
    for (int c = 0; c < n_sum; ++c) {
        float4 sum = c < Row::n_channel ? sums[c] : make_float4(den, 0, 0, 0);
        if (table > 0) {
            const float4 before = to[c];
            sum =
                make_float4(before.x + sum.x, before.y + sum.y, before.z + sum.z, before.w + sum.w);
        }
        to[c] = sum;
    }
}

template <int channels, int coordinates>
constexpr size_t key_bytes() {
    return size_t{key_chunk} * RowVectors<channels, coordinates>::key * sizeof(float4);
}

}  // namespace

void load_attention(const DeviceHead& head) {
    with_head(head, [&]<int channels, int coordinates>() {
        check(allow_shared(attend_kernel<channels, coordinates>,
                           static_cast<int64_t>(key_bytes<channels, coordinates>())),
              "hept attend");
    });
}

void attend(const DeviceProperties&, const AttendArgs& args, Stream stream) {
    if (args.n_block == 0) return;
    const int64_t strip = std::min<int64_t>((args.block_size + 31) / 32 * 32, largest_strip);
    const int64_t n_strip = (args.block_size + strip - 1) / strip;
    const dim3 grid(static_cast<unsigned>(args.n_block * n_strip),
                    static_cast<unsigned>(args.n_head));
    with_head(args.head, [&]<int channels, int coordinates>() {
        for (int table = 0; table < args.n_table; ++table)
            SURROGATE_LAUNCH((attend_kernel<channels, coordinates>), grid,
                             static_cast<unsigned>(strip), (key_bytes<channels, coordinates>()),
                             stream, args, table);
    });
    check_launch("hept attend");
}

}  // namespace surrogate::kernels::hept::cuda
