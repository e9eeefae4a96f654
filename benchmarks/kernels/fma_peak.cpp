// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/kernels/fma_peak.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "benchmarks/kernels/fma_peak.hpp"
#include "coupling/tool/multiply_adds-inl.h"
#include "kernels/base/buffer.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

double multiply_adds(float start, float* kept) {
    return tool::HWY_NAMESPACE::multiply_adds(start, kept);
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::bench {

double fma_peak(const kernels::Queue& queue) {
    using namespace kernels;
    using Clock = std::chrono::steady_clock;
    const auto chains = SURROGATE_AT_LEVEL(queue.level(), multiply_adds);
    Buffer<float> kept(16 * queue.n_thread());  // in a separate cache line for each thread
    Buffer<double> done(queue.n_thread());
    double best = 0;
    for (int run = 0; run < 20; ++run) {
        const auto begin = Clock::now();
        queue.parallel_for(queue.n_thread(),
                           [&](int64_t item, int) { done[item] = chains(0.5f, &kept[16 * item]); });
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        best = std::max(best, 2 * std::accumulate(done.begin(), done.end(), 0.0) / seconds);
    }
    return best;
}

}  // namespace surrogate::bench
#endif
