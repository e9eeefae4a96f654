// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/queue.hpp"

#include <hwy/targets.h>
#include <omp.h>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

#include <algorithm>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/base/processor.hpp"

namespace surrogate::kernels {

const char* name(Backend backend) {
    switch (backend) {
        case Backend::ref: return "ref";
        case Backend::simd: return "simd";
        case Backend::cuda: return "cuda";
    }
    return "?";
}

const char* name(VectorLevel level) {
    switch (level) {
        case VectorLevel::scalar: return "scalar";
        case VectorLevel::neon: return "neon";
        case VectorLevel::avx2: return "avx2";
        case VectorLevel::avx512: return "avx512";
    }
    return "?";
}

VectorLevel best_vector_level() {
    for (const VectorLevel level : {VectorLevel::avx512, VectorLevel::avx2, VectorLevel::neon})
        if (has_vector_level(level)) return level;
    return VectorLevel::scalar;
}

bool has_vector_level(VectorLevel level) {
    const auto targets = hwy::SupportedTargets();
    switch (level) {
        case VectorLevel::scalar: return true;
        case VectorLevel::neon: return HWY_ARCH_ARM_A64 && (targets & HWY_NEON);
        case VectorLevel::avx2: return HWY_ARCH_X86 && (targets & HWY_AVX2);
        case VectorLevel::avx512: return HWY_ARCH_X86 && (targets & HWY_AVX3);
    }
    return false;
}

bool has_fast_scaling() {
#if HWY_ARCH_X86
    static const bool is_intel = [] {
        unsigned highest, name[3];
        return __get_cpuid(0, &highest, &name[0], &name[1], &name[2]) != 0 &&
               name[0] == signature_INTEL_ebx;
    }();
    return is_intel;
#else
    return false;
#endif
}

int openmp_threads() {
    return std::max(1, std::min(omp_get_max_threads(), omp_get_thread_limit()));
}

Queue::Queue(Backend backend, VectorLevel level, int n_thread)
    : backend_(backend), level_(level), n_thread_(n_thread) {
    if (backend == Backend::cuda) {
        throw Error(Status::not_supported, "backend 'cuda' is not built in; available: ref, simd");
    }
    if (!has_vector_level(level)) {
        throw Error(Status::not_supported,
                    std::string("vector level '") + name(level) +
                        "' is not supported by this machine; its widest is '" +
                        name(best_vector_level()) + "'");
    }
    if (n_thread < 1) {
        throw Error(Status::invalid_argument,
                    "number of threads is " + std::to_string(n_thread) + ", expected 1 or more");
    }
}

void Queue::run(int64_t n_item, const void* context,
                void (*call)(const void*, int64_t, int)) const {
    const int64_t n_share = n_thread_;
    // One thread, or one item: do not enter the OpenMP runtime, whose idle workers would spin on
    // the cores of other ranks.
    if (n_share == 1 || n_item <= 1) {
        for (int64_t item = 0; item < n_item; ++item) call(context, item, 0);
        return;
    }
#pragma omp parallel for num_threads(n_thread_) schedule(static, 1)
    for (int64_t share = 0; share < n_share; ++share) {
        const int64_t begin = n_item * share / n_share, end = n_item * (share + 1) / n_share;
        for (int64_t item = begin; item < end; ++item) call(context, item, static_cast<int>(share));
    }
}

}  // namespace surrogate::kernels
