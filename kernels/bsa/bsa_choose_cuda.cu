// SPDX-License-Identifier: Apache-2.0
// The choice of blocks. A warp processes one head of 32 groups, one group per lane. Keys are read
// in chunks by all lanes; each lane keeps its best blocks in shared memory, best first.
#include <limits>

#include "kernels/bsa/bsa_launch.cuh"
#include "kernels/device/columns.cuh"

namespace surrogate::kernels::bsa::cuda {
namespace {

constexpr int n_warp = 2;  // per block
constexpr int chunk_blocks = 32;

/// Returns the floats of shared memory per warp: keys (chunk_blocks, n_dim), then, side by side for
/// all lanes, queries (n_dim), scores and blocks (n_choice).
int64_t warp_floats(const ChooseArgs& args) {
    return int64_t{chunk_blocks} * args.n_dim + 32 * (args.n_dim + 2 * int64_t{args.n_choice});
}

/// The best blocks of one lane.
struct Choice {
    float* scores;  // stride 32
    int* blocks;
    int n_choice;
    int n = 0;

    __device__ bool takes(float score) const {
        return n < n_choice || score > scores[(n_choice - 1) * 32];
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

__global__ void __launch_bounds__(32 * n_warp)
    choose_kernel(const ChooseArgs args, int64_t warp_size) {
    SURROGATE_SHARED(shared);
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int64_t work = static_cast<int64_t>(blockIdx.x) * n_warp + warp;
    const int head = static_cast<int>(work % args.n_head), n_dim = args.n_dim;
    const int64_t group = work / args.n_head * 32 + lane;
    if (group - lane >= args.n_group) return;
    const bool exists = group < args.n_group;

    float* const keys = reinterpret_cast<float*>(shared) + warp * warp_size;
    float* const query = keys + chunk_blocks * n_dim + lane;
    float* const scores = query + 32 * n_dim;
    Choice choice{scores, reinterpret_cast<int*>(scores + 32 * args.n_choice), args.n_choice};
    for (int c = 0; c < n_dim; ++c) {
        float sum = 0;
        for (int64_t s = 0; s < args.g && exists; ++s)
            sum += number_in(args.queries, group * args.g + s, head, c);
        query[c * 32] = sum / static_cast<float>(args.g);
    }
    const int64_t own_begin =
        args.blocks_of_ball > 0
            ? (args.first_ball + group / args.groups_of_ball) * args.blocks_of_ball
            : 0;
    const int64_t own_end = own_begin + args.blocks_of_ball;
    // All groups have the same number of blocks of other balls; if there are too few of them, own
    // ones follow.
    const int n_sweep = args.n_block - args.blocks_of_ball < args.n_choice ? 2 : 1;
    bool is_finite = true;
    for (int sweep = 0; sweep < n_sweep; ++sweep) {
        const int n_before = choice.n;
        for (int64_t first = 0; first < args.n_block; first += chunk_blocks) {
            const int n = static_cast<int>(
                args.n_block - first < chunk_blocks ? args.n_block - first : chunk_blocks);
            __syncwarp();
            for (int i = lane; i < n * n_dim; i += 32)
                keys[i] = number_in(args.keys, first + i / n_dim, head, i % n_dim);
            __syncwarp();
            for (int b = 0; b < n && exists; ++b) {
                const int64_t block = first + b;
                if ((block >= own_begin && block < own_end) != (sweep == 1)) continue;
                float score = 0;
                for (int c = 0; c < n_dim; ++c)
                    score = fmaf(query[c * 32], keys[b * n_dim + c], score);
                is_finite = is_finite && fabsf(score) <= largest_float;
                if (choice.takes(score)) choice.insert(score, static_cast<int>(block), n_before);
            }
        }
    }
    if (!exists) return;
    if (!is_finite) atomicMax(&args.findings->not_finite, 1);
    choice.sort_blocks();
    int32_t* const to = args.to + (group * args.n_head + head) * args.n_choice;
    for (int i = 0; i < args.n_choice; ++i) to[i] = i < choice.n ? choice.blocks[i * 32] : 0;
}

}  // namespace

void load_choice(const DeviceProperties& device) {
    load_kernel(device, choose_kernel, "bsa choose");
}

void choose(const DeviceProperties&, const ChooseArgs& args, Stream stream) {
    if (args.n_group == 0) return;
    const int64_t n_work = (args.n_group + 31) / 32 * args.n_head;
    const int64_t size = warp_floats(args);
    SURROGATE_LAUNCH(choose_kernel, static_cast<unsigned>((n_work + n_warp - 1) / n_warp),
                     32 * n_warp, static_cast<size_t>(n_warp * size * 4), stream, args, size);
    check_launch("bsa choose");
}

}  // namespace surrogate::kernels::bsa::cuda
