// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Included first in every *_simd.cpp, before any header of Highway. One source is compiled for one
/// lane (with std::fma) and, on x86, AVX2 and AVX-512, on arm64 NEON. Other targets are switched
/// off, because they would only add code; vectors of SVE have no fixed size and fit in no array.
/// All names are defined by Highway 1.0.3, the oldest version that was tested.
#define HWY_BASELINE_TARGETS HWY_SCALAR
#define HWY_DISABLED_TARGETS \
    (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

#include <hwy/detect_targets.h>

#include "kernels/base/queue.hpp"

#if !(HWY_TARGETS & HWY_SCALAR)
#error "the scalar level must always be compiled"
#endif

// SURROGATE_AT_LEVEL(level, function): the version of `function` that is compiled for a
// VectorLevel. A plain selection is used instead of Highway's own dispatch, which keeps a global
// state that the host program might share. Queue has checked the level.
#if HWY_TARGETS & HWY_AVX3
#define SURROGATE_AT_AVX512(function) N_AVX3::function
#else
#define SURROGATE_AT_AVX512(function) N_SCALAR::function
#endif
#if HWY_TARGETS & HWY_AVX2
#define SURROGATE_AT_AVX2(function) N_AVX2::function
#else
#define SURROGATE_AT_AVX2(function) N_SCALAR::function
#endif
#if HWY_TARGETS & HWY_NEON
#define SURROGATE_AT_LEVEL(level, function) \
    ((level) == VectorLevel::neon ? N_NEON::function : N_SCALAR::function)
#else
#define SURROGATE_AT_LEVEL(level, function)                         \
    ((level) == VectorLevel::avx512 ? SURROGATE_AT_AVX512(function) \
     : (level) == VectorLevel::avx2 ? SURROGATE_AT_AVX2(function)   \
                                    : N_SCALAR::function)
#endif
