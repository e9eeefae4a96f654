// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/kernels/fma_peak.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <chrono>

#include "benchmarks/kernels/fma_peak.hpp"
#include "kernels/base/buffer.hpp"
#include "kernels/base/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

constexpr int64_t n_step = 200000;

/// Twelve chains in variables of their own: more than latency times throughput, fewer than
/// registers. Each starts at another value, or the compiler would compute equal ones once.
double fma_chains(float start) {
    const Vector x = broadcast(start), y = broadcast(1 - start);
    const auto at = [&](float factor) HWY_ATTR { return broadcast(factor * start); };
    Vector a = at(1), b = at(2), c = at(3), d = at(4), e = at(5), f = at(6);
    Vector g = at(7), h = at(8), i = at(9), j = at(10), k = at(11), l = at(12);
    for (int64_t step = 0; step < n_step; ++step) {
        a = mul_add(a, x, y), b = mul_add(b, x, y), c = mul_add(c, x, y), d = mul_add(d, x, y);
        e = mul_add(e, x, y), f = mul_add(f, x, y), g = mul_add(g, x, y), h = mul_add(h, x, y);
        i = mul_add(i, x, y), j = mul_add(j, x, y), k = mul_add(k, x, y), l = mul_add(l, x, y);
    }
    Vector sum = a;
    for (Vector v : {b, c, d, e, f, g, h, i, j, k, l}) sum = hn::Add(sum, v);
    return hn::GetLane(sum);
}

double flops_of_chains() {
    return static_cast<double>(n_step * 12 * 2 * width);
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::bench {

double fma_peak(const kernels::Queue& queue) {
    using namespace kernels;
    using Clock = std::chrono::steady_clock;
    const auto chains = SURROGATE_AT_LEVEL(queue.level(), fma_chains);
    const double flops = SURROGATE_AT_LEVEL(queue.level(), flops_of_chains)() * queue.n_thread();
    Buffer<double> results(queue.n_thread());  // written, so that nothing is optimised away
    double best = 0;
    for (int run = 0; run < 20; ++run) {
        const auto begin = Clock::now();
        queue.parallel_for(queue.n_thread(),
                           [&](int64_t item, int) { results[item] = chains(0.5f); });
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        best = std::max(best, flops / seconds);
    }
    return best;
}

}  // namespace surrogate::bench
#endif
