// SPDX-License-Identifier: Apache-2.0
// Disables intermediate levels. SSE2, AVX2 and AVX-512 (and levels of other machines) are compiled,
// which covers all machines.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coupling/tool/machine_limits.cpp"
// clang-format off: this file is included for each target, before what follows.
#include <hwy/foreach_target.h>
// clang-format on

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "coupling/tool/machine_limits.hpp"
#include "coupling/tool/multiply_adds-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::tool::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;

/// Computes exponentials of numbers in the first-level cache, below 0 as in a softmax.
double exponentials(float start, float* kept) {
    constexpr size_t n = 4096;
    constexpr int n_round = 1000;
    const Tag tag;
    const size_t width = hn::Lanes(tag);
    alignas(64) static thread_local float values[n];
    for (size_t i = 0; i < n; ++i) values[i] = -10 * start * static_cast<float>(i) / n;
    auto sum = hn::Zero(tag);
    for (int round = 0; round < n_round; ++round) {
        const auto shift = hn::Set(tag, -0.01f * static_cast<float>(round));
        for (size_t i = 0; i < n; i += width)
            sum = hn::Add(sum, hn::Exp(tag, hn::Add(hn::Load(tag, values + i), shift)));
    }
    *kept += hn::GetLane(sum);
    return static_cast<double>(n) * n_round;
}

const char* vectors() {
    return hwy::TargetName(HWY_TARGET);
}

}  // namespace
}  // namespace surrogate::tool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::tool {

HWY_EXPORT(multiply_adds);
HWY_EXPORT(exponentials);
HWY_EXPORT(vectors);

namespace {

using Clock = std::chrono::steady_clock;
constexpr int n_run = 7;
constexpr size_t memory_words = size_t{8} << 20;  // 64 MB: exceeds the caches

/// Returns the sum of the results of `work(thread)` on all threads of all ranks, per second, for
/// the best run.
double rate(const Job& job, int n_thread, const std::function<double(int)>& work) {
    double best = 0;
    for (int run = 0; run < n_run; ++run) {
        std::vector<double> done(static_cast<size_t>(n_thread));
        job.barrier();
        const auto begin = Clock::now();
        std::vector<std::thread> threads;
        for (int t = 1; t < n_thread; ++t)
            threads.emplace_back([&, t] { done[static_cast<size_t>(t)] = work(t); });
        done[0] = work(0);
        for (std::thread& thread : threads) thread.join();
        const double seconds = job.max(std::chrono::duration<double>(Clock::now() - begin).count());
        double sum = 0;
        for (const double one : done) sum += one;
        best = std::max(best, static_cast<double>(job.sum(static_cast<int64_t>(sum))) / seconds);
    }
    return best;
}

double read_memory(const std::vector<uint64_t>& words, uint64_t* kept) {
    uint64_t sums[8] = {};
    for (size_t i = 0; i < words.size(); i += 8)
        for (size_t k = 0; k < 8; ++k) sums[k] += words[i + k];
    for (const uint64_t sum : sums) *kept += sum;
    return static_cast<double>(words.size() * sizeof(uint64_t));
}

}  // namespace

MachineLimits measure_limits(const Job& job, int n_thread) {
    const auto n = static_cast<size_t>(n_thread);
    std::vector<float> kept(16 * n, 0.5f);  // each thread uses its own cache line
    std::vector<uint64_t> kept_words(8 * n);
    std::vector<std::vector<uint64_t>> memory(n);
    job.agree([&] {
        for (auto& words : memory) words.assign(memory_words, 1);
    });
    const auto slot = [&](int t) { return &kept[16 * static_cast<size_t>(t)]; };
    MachineLimits limits;
    limits.multiply_adds = rate(
        job, n_thread, [&](int t) { return HWY_DYNAMIC_DISPATCH(multiply_adds)(0.5f, slot(t)); });
    limits.exponentials = rate(
        job, n_thread, [&](int t) { return HWY_DYNAMIC_DISPATCH(exponentials)(0.5f, slot(t)); });
    limits.memory_bytes = rate(job, n_thread, [&](int t) {
        return read_memory(memory[static_cast<size_t>(t)], &kept_words[8 * static_cast<size_t>(t)]);
    });
    limits.vectors = HWY_DYNAMIC_DISPATCH(vectors)();
    return limits;
}

}  // namespace surrogate::tool
#endif
