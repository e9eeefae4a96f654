// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "kernels/base/queue.hpp"

namespace surrogate::kernels::test {

/// Backend and vector level of a kernel test. All targets are parameters; those that this machine
/// lacks are skipped by name.
struct Target {
    Backend backend;
    VectorLevel level;

    bool is_available() const { return has_vector_level(level); }
    std::string text() const {
        return backend == Backend::ref ? "ref" : std::string("simd_") + name(level);
    }
};

inline const std::vector<Target> targets = {{Backend::ref, VectorLevel::scalar},
                                            {Backend::simd, VectorLevel::scalar},
                                            {Backend::simd, VectorLevel::neon},
                                            {Backend::simd, VectorLevel::avx2},
                                            {Backend::simd, VectorLevel::avx512}};

/// Levels of the simd backend that exist here, beyond the one-lane level that all are compared
/// with.
inline std::vector<VectorLevel> wide_levels() {
    std::vector<VectorLevel> levels;
    for (VectorLevel level : {VectorLevel::neon, VectorLevel::avx2, VectorLevel::avx512}) {
        if (has_vector_level(level)) levels.push_back(level);
    }
    return levels;
}

class OnTarget : public testing::TestWithParam<Target> {
protected:
    void SetUp() override {
        if (!GetParam().is_available())
            GTEST_SKIP() << GetParam().text() << " is not offered by this machine";
    }
    Queue queue() const { return Queue(GetParam().backend, GetParam().level, 1); }
};

#define SURROGATE_ON_ALL_TARGETS(suite)                                                          \
    INSTANTIATE_TEST_SUITE_P(All, suite, testing::ValuesIn(::surrogate::kernels::test::targets), \
                             [](const auto& test) { return test.param.text(); })

/// Random numbers of a test: fixed, printed, and overridden by SURROGATE_TEST_SEED.
inline std::mt19937 generator() {
    const char* text = std::getenv("SURROGATE_TEST_SEED");
    const unsigned seed = text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 20240;
    testing::Test::RecordProperty("seed", std::to_string(seed));
    if (text) std::printf("seed %u\n", seed);
    return std::mt19937(seed);
}

}  // namespace surrogate::kernels::test
