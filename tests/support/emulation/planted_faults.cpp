// SPDX-License-Identifier: Apache-2.0
// Kernels with one mistake each, for sanitizers to find: planted_faults <name>. `none` has none.
#include <cstdio>
#include <string>

#include "kernels/device/cuda.cuh"

namespace {

using namespace surrogate::kernels::cuda;

enum class Fault { none, no_barrier, shuffle_as_barrier, early_copy, outside };

/// Every thread reads the value that its neighbor wrote: first inside its warp, then in the block.
__global__ void neighbours(Fault fault, const float* from, float* out) {
    SURROGATE_SHARED(memory);
    auto* values = reinterpret_cast<float*>(memory);  // (2, 64)
    const unsigned i = threadIdx.x;
    for (int round = 0; round < 3; ++round) {
        values[fault == Fault::outside && i == 63 ? 128 : i] = static_cast<float>(i);
        if (fault == Fault::shuffle_as_barrier)
            __shfl_sync(~0U, i, 0);
        else
            __syncwarp();
        values[64 + i] = values[i ^ 1];
        if (fault != Fault::no_barrier) __syncthreads();
        out[i] = values[64 + (63 - i)];
        __syncthreads();
        if (i < 16) copy_async_16(values + 4 * i, from + 4 * i);
        wait_copies();
        if (fault != Fault::early_copy) __syncthreads();
        out[i] += values[i];
        __syncthreads();
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string names[] = {"none", "no_barrier", "shuffle_as_barrier", "early_copy",
                                 "outside"};
    const auto* const name =
        std::find(std::begin(names), std::end(names), argc == 2 ? argv[1] : "");
    if (name == std::end(names)) return 2;
    alignas(16) float from[64] = {};
    float out[64] = {};
    SURROGATE_LAUNCH(neighbours, 2, 64, 512, nullptr, static_cast<Fault>(name - names), from, out);
    for (int i = 0; i < 64; ++i)
        if (out[i] != static_cast<float>((63 - i) ^ 1)) return 1;
    std::puts("right");
    return 0;
}
