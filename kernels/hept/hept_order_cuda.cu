// SPDX-License-Identifier: Apache-2.0
// The order of the tokens of a cell. A warp counts in small cells, a block of threads sorts in
// shared memory, and parts of larger cells are merged in global memory. Entries hash | index are
// all different, so every sorting method gives the same stable order.
#include <algorithm>
#include <utility>

#include "kernels/hept/hept_launch.cuh"

namespace surrogate::kernels::hept::cuda {
namespace {

constexpr int n_thread = 256, n_warp = n_thread / 32;

/// Used for entries beyond the last token.
constexpr uint64_t behind_all = ~uint64_t{0};

/// One row of queries (which = 0) or keys (1).
struct Row {
    const int32_t* members;
    const uint32_t* hashes;
    int32_t* orders;

    __device__ Row(const OrderArgs& args, int row, int which)
        : members(args.members + row * args.n_member),
          hashes(args.hashes + (which * args.n_row + row) * args.n_token),
          orders(args.orders + (which * args.n_row + row) * args.n_place) {}

    /// Returns the entry of an index among the members.
    __device__ uint64_t entry(int place) const {
        return uint64_t{hashes[members[place]]} << 32 | static_cast<uint32_t>(place);
    }
    __device__ int32_t token(uint64_t entry) const { return members[static_cast<uint32_t>(entry)]; }
};

/// Sorts small cells. Item i of the kernel is cell i / 2, its queries or its keys.
__global__ void __launch_bounds__(n_thread) small_kernel(const OrderArgs args) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int64_t item =
        static_cast<int64_t>(blockIdx.x) * n_warp + static_cast<int64_t>(threadIdx.x) / 32;
    if (item >= 2 * args.n_small) return;
    const DeviceCell cell = args.small[item / 2];
    const Row row(args, cell.row, static_cast<int>(item % 2));
    const uint64_t entry = lane < cell.n ? row.entry(cell.begin + lane) : behind_all;
    int n_before = 0;
    for (int other = 0; other < cell.n; ++other)
        n_before += __shfl_sync(~0U, entry, other) < entry ? 1 : 0;
    if (lane < cell.n) row.orders[cell.to + n_before] = row.token(entry);
}

/// Sorts entries in shared memory, a power of two of them, ascending: bitonic sort.
__device__ void sort_entries(uint64_t* entries, int n) {
    for (int size = 2; size <= n; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            for (int i = static_cast<int>(threadIdx.x); i < n / 2; i += n_thread) {
                const int low = i / step * 2 * step + i % step, high = low + step;
                const uint64_t a = entries[low], b = entries[high];
                const bool is_ascending = (low & size) == 0;
                if ((a > b) == is_ascending) {
                    entries[low] = b;
                    entries[high] = a;
                }
            }
            __syncthreads();
        }
    }
}

/// Writes to the row's order, or as entries to keys for cells that are parts.
template <bool is_part>
__global__ void __launch_bounds__(n_thread) block_kernel(const OrderArgs args) {
    SURROGATE_SHARED(shared);
    auto* const entries = reinterpret_cast<uint64_t*>(shared);
    const int64_t item = blockIdx.x;
    const DeviceCell cell = (is_part ? args.parts : args.middle)[item / 2];
    const int which = static_cast<int>(item % 2);
    const Row row(args, cell.row, which);
    int n = 1;
    while (n < cell.n) n *= 2;
    for (int i = static_cast<int>(threadIdx.x); i < n; i += n_thread)
        entries[i] = i < cell.n ? row.entry(cell.begin + i) : behind_all;
    __syncthreads();
    sort_entries(entries, n);
    for (int i = static_cast<int>(threadIdx.x); i < cell.n; i += n_thread) {
        if constexpr (is_part) {
            args.keys[which * args.n_key + cell.to + i] = entries[i];
        } else {
            row.orders[cell.to + i] = row.token(entries[i]);
        }
    }
}

/// Returns the number of entries below `entry` among n ascending entries.
__device__ int64_t count_below(const uint64_t* entries, int64_t n, uint64_t entry) {
    int64_t begin = 0;
    while (n > 0) {
        const int64_t half = n / 2;
        if (entries[begin + half] < entry) {
            begin += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return begin;
}

/// Merges sorted runs of `run` entries into runs of twice the size; the last step writes tokens.
__global__ void __launch_bounds__(n_thread)
    merge_kernel(const OrderArgs args, const uint64_t* from_all, uint64_t* to_all, int64_t run,
                 bool is_last) {
    const DeviceLargeCell large = args.large[blockIdx.y / 2];
    const int which = static_cast<int>(blockIdx.y % 2);
    const Row row(args, large.cell.row, which);
    const int64_t first = which * args.n_key + large.first, n = large.cell.n;
    const uint64_t* const from = from_all + first;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * n_thread + threadIdx.x; i < n;
         i += static_cast<int64_t>(gridDim.x) * n_thread) {
        const uint64_t entry = from[i];
        const int64_t own = i / run * run, pair = own / (2 * run) * (2 * run);
        const int64_t other = own == pair ? pair + run : pair;
        int64_t to = i - own + pair;
        if (other < n) to += count_below(from + other, n - other < run ? n - other : run, entry);
        if (is_last) {
            row.orders[large.cell.to + to] = row.token(entry);
        } else {
            to_all[first + to] = entry;
        }
    }
}

unsigned blocks_of(int64_t n_item, int64_t of_block) {
    return static_cast<unsigned>((n_item + of_block - 1) / of_block);
}

size_t entry_bytes(int64_t n) {
    size_t n_byte = sizeof(uint64_t);
    for (int64_t size = 1; size < n; size *= 2) n_byte *= 2;
    return n_byte;
}

void merge_large(const OrderArgs& args, Stream stream) {
    constexpr int64_t most_blocks = 1024, most_cells = 65535 / 2;
    const unsigned n_block =
        std::min(blocks_of(args.largest, n_thread), static_cast<unsigned>(most_blocks));
    uint64_t *from = args.keys, *to = args.keys + 2 * args.n_key;
    for (int64_t run = largest_chunk; run < args.largest; run *= 2) {
        for (int64_t first = 0; first < args.n_large; first += most_cells) {
            OrderArgs some = args;
            some.large = args.large + first;
            some.n_large = std::min(most_cells, args.n_large - first);
            const dim3 grid(n_block, static_cast<unsigned>(2 * some.n_large));
            SURROGATE_LAUNCH(merge_kernel, grid, n_thread, 0, stream, some, from, to, run,
                             2 * run >= args.largest);
        }
        std::swap(from, to);
    }
}

}  // namespace

void load_order() {
    check(allow_shared(small_kernel, 0), "hept order of small cells");
    check(allow_shared(block_kernel<false>, largest_chunk * 8), "hept order of cells");
    check(allow_shared(block_kernel<true>, largest_chunk * 8), "hept order of parts");
    check(allow_shared(merge_kernel, 0), "hept order of large cells");
}

void order(const DeviceProperties&, const OrderArgs& args, Stream stream) {
    if (args.n_small > 0)
        SURROGATE_LAUNCH(small_kernel, blocks_of(2 * args.n_small, n_warp), n_thread, 0, stream,
                         args);
    if (args.n_middle > 0)
        SURROGATE_LAUNCH(block_kernel<false>, static_cast<unsigned>(2 * args.n_middle), n_thread,
                         entry_bytes(args.largest_middle), stream, args);
    if (args.n_part > 0)
        SURROGATE_LAUNCH(block_kernel<true>, static_cast<unsigned>(2 * args.n_part), n_thread,
                         entry_bytes(largest_chunk), stream, args);
    if (args.n_large > 0) merge_large(args, stream);
    check_launch("hept order");
}

}  // namespace surrogate::kernels::hept::cuda
