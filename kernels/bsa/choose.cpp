// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "kernels/base/dispatch.hpp"
#include "kernels/bsa/bsa.hpp"

namespace surrogate::kernels::bsa {
namespace {

/// Limit of the keys per call, which are counted in 32 bits.
constexpr int64_t max_keys_of_call = int64_t{1} << 30;

}  // namespace

template <class T>
void reset(Choice<T> choice) {
    std::fill_n(choice.score, choice.size(), T(0));
    std::fill_n(choice.block, choice.size(), int64_t{-1});
}

template <class T>
bool choose(const Queue& queue, const Heads& heads, Tile<const T> q, Tile<const T> k,
            int64_t first_block, const OwnBlocks& own, T* scratch, Choice<T> choice) {
    if (k.shape[1] >= max_keys_of_call)
        throw Error(Status::limit, "choose() got " + std::to_string(k.shape[1]) +
                                       " blocks at once, expected less than 2^30; offer them in "
                                       "several calls");
    if (!uses_simd<T>(queue, "choose")) return ref::choose(heads, q, k, first_block, own, choice);
    if constexpr (std::is_same_v<T, float>)
        return simd::choose(queue.level(), heads, q, k, first_block, own, scratch, choice);
    return false;
}

int64_t choose_scratch(const Heads&, int64_t n_choice) {
    return 2 * n_choice * lane_count;
}

template <class T>
int64_t sorted_choice(Choice<T> choice, int64_t head, int64_t group, int64_t* blocks) {
    int64_t n = 0;
    for (int64_t rank = 0; rank < choice.n_choice; ++rank) {
        const int64_t block = choice.block[choice.index(head, rank, group)];
        if (block >= 0) blocks[n++] = block;
    }
    std::sort(blocks, blocks + n);
    return n;
}

template void reset(Choice<float>);
template void reset(Choice<double>);
template bool choose(const Queue&, const Heads&, Tile<const float>, Tile<const float>, int64_t,
                     const OwnBlocks&, float*, Choice<float>);
template bool choose(const Queue&, const Heads&, Tile<const double>, Tile<const double>, int64_t,
                     const OwnBlocks&, double*, Choice<double>);
template int64_t sorted_choice(Choice<float>, int64_t, int64_t, int64_t*);
template int64_t sorted_choice(Choice<double>, int64_t, int64_t, int64_t*);

}  // namespace surrogate::kernels::bsa
