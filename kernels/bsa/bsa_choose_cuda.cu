// SPDX-License-Identifier: Apache-2.0
// The choice of blocks. A warp processes one head of 32 groups, one group per lane. Keys are read
// in chunks by all lanes, and scored several at a time; each lane keeps its query in registers, if
// the usual head dimension allows it, and its best blocks in shared memory, best first.
#include <limits>

#include "kernels/bsa/bsa_launch.cuh"
#include "kernels/device/columns.cuh"

namespace surrogate::kernels::bsa::cuda {
namespace {

constexpr int n_warp = 2;  // per block
constexpr int chunk_blocks = 32;

constexpr int at_once = 4;  // keys

/// Returns the floats of shared memory per warp: keys (chunk_blocks, n_dim), then, side by side for
/// all lanes, queries (n_dim), scores and blocks (n_choice).
int64_t warp_floats(const ChooseArgs& args) {
    return int64_t{chunk_blocks} * args.n_dim + 32 * (args.n_dim + 2 * int64_t{args.n_choice});
}

/// The query of a lane: `dim` numbers in registers, or any number in shared memory if dim is 0.
template <int dim>
struct Query {
    float numbers[dim];
    __device__ explicit Query(float*) {}
    __device__ float& operator[](int c) { return numbers[c]; }
};
template <>
struct Query<0> {
    float* numbers;
    __device__ explicit Query(float* shared) : numbers(shared) {}
    __device__ float& operator[](int c) { return numbers[c * 32]; }
};

/// The best blocks of one lane.
struct Choice {
    float* scores;  // stride 32
    int* blocks;
    int n_choice;
    int n = 0;

    /// Returns the score that a block has to exceed.
    __device__ float least() const {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        return n < n_choice ? -infinity : scores[(n_choice - 1) * 32];
    }
    /// Inserts a block after equal scores, and after the first n_before entries, which are of a
    /// better class.
    __device__ void insert(float score, int block, int n_before) {
        int at = n < n_choice ? n++ : n_choice - 1;
        for (; at > n_before && scores[(at - 1) * 32] < score; --at) {
            scores[at * 32] = scores[(at - 1) * 32];
            blocks[at * 32] = blocks[(at - 1) * 32];
        }
        scores[at * 32] = score;
        blocks[at * 32] = block;
    }
    __device__ void sort_blocks() {
        for (int i = 1; i < n; ++i) {
            const int block = blocks[i * 32];
            int at = i;
            for (; at > 0 && blocks[(at - 1) * 32] > block; --at)
                blocks[at * 32] = blocks[(at - 1) * 32];
            blocks[at * 32] = block;
        }
    }
};

/// Adds the products of a query with keys (at_once, n_dim), each sum in order of the channels.
template <int dim>
__device__ inline void add_products(Query<dim>& query, const float* keys, int n_dim,
                                    float (&score)[at_once]) {
    if constexpr (dim % 4 == 0 && dim > 0) {
        const auto* const vectors = reinterpret_cast<const float4*>(keys);
#pragma unroll
        for (int c = 0; c < dim; c += 4) {
#pragma unroll
            for (int k = 0; k < at_once; ++k) {
                const float4 key = vectors[(k * dim + c) / 4];
                score[k] = fmaf(query[c], key.x, score[k]);
                score[k] = fmaf(query[c + 1], key.y, score[k]);
                score[k] = fmaf(query[c + 2], key.z, score[k]);
                score[k] = fmaf(query[c + 3], key.w, score[k]);
            }
        }
    } else {
        for (int c = 0; c < n_dim; ++c) {
#pragma unroll
            for (int k = 0; k < at_once; ++k)
                score[k] = fmaf(query[c], keys[k * n_dim + c], score[k]);
        }
    }
}

template <int dim>
__global__ void __launch_bounds__(32 * n_warp)
    choose_kernel(const ChooseArgs args, int64_t warp_size) {
    SURROGATE_SHARED(shared);
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int64_t work = static_cast<int64_t>(blockIdx.x) * n_warp + warp;
    const int head = static_cast<int>(work % args.n_head), n_dim = dim > 0 ? dim : args.n_dim;
    const int64_t group = work / args.n_head * 32 + lane;
    if (group - lane >= args.n_group) return;
    const bool exists = group < args.n_group;

    float* const keys = reinterpret_cast<float*>(shared) + warp * warp_size;
    float* const own = keys + chunk_blocks * n_dim + lane;
    float* const scores = own + 32 * n_dim;
    Query<dim> query(own);
    Choice choice{scores, reinterpret_cast<int*>(scores + 32 * args.n_choice), args.n_choice};
#pragma unroll
    for (int c = 0; c < n_dim; ++c) query[c] = 0;
    for (int64_t item = 0; item < args.g && exists; ++item) {
#pragma unroll
        for (int c = 0; c < n_dim; ++c)
            query[c] += number_in(args.queries, group * args.g + item, head, c);
    }
#pragma unroll
    for (int c = 0; c < n_dim; ++c) query[c] /= static_cast<float>(args.g);
    const int n_own = static_cast<int>(args.blocks_of_ball);
    const int own_begin =
        n_own > 0 ? static_cast<int>((args.first_ball + group / args.groups_of_ball) * n_own) : 0;
    // All groups have the same number of blocks of other balls; if there are too few of them, own
    // ones follow.
    const int n_block = static_cast<int>(args.n_block);
    const int n_sweep = n_block - n_own < args.n_choice ? 2 : 1;
    float finite = 0;  // NaN after a score that is not finite
    for (int sweep = 0; sweep < n_sweep; ++sweep) {
        const int n_before = choice.n;
        float least = choice.least();
        for (int first = 0; first < n_block; first += chunk_blocks) {
            const int n = min(n_block - first, chunk_blocks);
            __syncwarp();
            for (int i = lane; i < chunk_blocks * n_dim; i += 32)
                keys[i] =
                    i < n * n_dim ? number_in(args.keys, first + i / n_dim, head, i % n_dim) : 0;
            __syncwarp();
            for (int b = 0; b < n; b += at_once) {
                float score[at_once] = {};
                add_products(query, keys + b * n_dim, n_dim, score);
#pragma unroll
                for (int k = 0; k < at_once; ++k) {
                    finite = fmaf(score[k], 0.0F, finite);
                    const int block = first + b + k;
                    const bool is_own =
                        static_cast<unsigned>(block - own_begin) < static_cast<unsigned>(n_own);
                    if (score[k] > least && block < n_block && is_own == (sweep == 1)) {
                        choice.insert(score[k], block, n_before);
                        least = choice.least();
                    }
                }
            }
        }
    }
    if (!exists) return;
    if (finite != 0) atomicMax(&args.findings->not_finite, 1);
    choice.sort_blocks();
    int32_t* const to = args.to + (group * args.n_head + head) * args.n_choice;
    for (int i = 0; i < args.n_choice; ++i) to[i] = i < choice.n ? choice.blocks[i * 32] : 0;
}

/// Calls body<n_dim>() for the usual head dimensions, body<0>() for others.
template <class Body>
void with_dim(int32_t n_dim, const Body& body) {
    switch (n_dim) {
        case 8: return body.template operator()<8>();
        case 16: return body.template operator()<16>();
        case 32: return body.template operator()<32>();
        default: return body.template operator()<0>();
    }
}

}  // namespace

void load_choice(const DeviceProperties& device) {
    for (const int32_t n_dim : {0, 8, 16, 32})
        with_dim(n_dim, [&]<int dim>() { load_kernel(device, choose_kernel<dim>, "bsa choose"); });
}

void choose(const DeviceProperties&, const ChooseArgs& args, Stream stream) {
    if (args.n_group == 0) return;
    const int64_t n_work = (args.n_group + 31) / 32 * args.n_head;
    const int64_t size = warp_floats(args);
    with_dim(args.n_dim, [&]<int dim>() {
        SURROGATE_LAUNCH(choose_kernel<dim>, static_cast<unsigned>((n_work + n_warp - 1) / n_warp),
                         32 * n_warp, static_cast<size_t>(n_warp * size * 4), stream, args, size);
    });
    check_launch("bsa choose");
}

}  // namespace surrogate::kernels::bsa::cuda
