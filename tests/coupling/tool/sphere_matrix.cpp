// SPDX-License-Identifier: Apache-2.0
// Every check case on the sphere, in both modes and every partition, on the ranks of this launch:
// the answer, and in reproducible mode the bits.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "coupling/case/check_case.hpp"
#include "tests/coupling/tool/check_ranks.hpp"

namespace surrogate::tool {
namespace {

/// A file, and whether it is quick enough for the whole matrix.
struct Case {
    const char* file;
    bool is_small;
};

std::string path_of(const Case& c) {
    const std::string name = c.file;
    if (name == "shallow_water") return SURROGATE_SHARE "/models/shallow_water.safetensors";
    return std::string(SURROGATE_TEST_DATA "/sphere/") + name + ".safetensors";
}

class SphereMatrix : public testing::TestWithParam<Case> {
protected:
    SphereMatrix()
        : context_(job().make_context()),
          loaded_(load_case(job(), context_, path_of(GetParam()))) {}

    CheckResult run(const CheckSettings& settings) const {
        const CheckResult result = run_check(job(), context_, loaded_, settings);
        EXPECT_TRUE(result.outcome.is_passed)
            << settings.partition << " " << settings.backend << ": relative_l2 "
            << result.outcome.relative_l2 << ", allowed " << result.outcome.bound;
        EXPECT_EQ(result.backend, settings.backend);
        EXPECT_EQ(result.family, "sphere");
        return result;
    }

    void expect_hash(const CheckSettings& settings) const {
        const CheckResult result = run(settings);
        if (!job().is_root()) return;
        const std::string key = std::string(GetParam().file) + " " + settings.backend;
        EXPECT_EQ(result.hash, hashes().expected(key, result.hash))
            << settings.partition << ", " << result.threads << " threads, " << result.vector;
    }

    Context context_;
    LoadedCase loaded_;
};

TEST_P(SphereMatrix, FastModeIsRightInEveryPartition) {
    for (const char* partition : partitions) run({partition, false, "simd", "fp32", "1", ""});
    for (const char* partition : partitions)
        if (GetParam().is_small || std::string(partition) == "scattered")
            run({partition, false, "ref", "fp32", "1", ""});
}

TEST_P(SphereMatrix, ReproducibleModeGivesOneHash) {
    for (const char* partition : partitions)
        expect_hash({partition, true, "simd", "fp32", "1", ""});
    expect_hash({"scattered", true, "simd", "fp32", "2", ""});
    for (const char* partition : partitions)
        if (GetParam().is_small || std::string(partition) == "scattered")
            expect_hash({partition, true, "ref", "fp32", "1", ""});
}

TEST_P(SphereMatrix, AllVectorLevelsGiveTheHashOfTheReproducibleMode) {
    if (!GetParam().is_small && job().size() > 1)
        GTEST_SKIP() << "the large cases try all levels on one rank only, to save time";
    for (const char* level : {"avx512", "avx2", "neon", "scalar"}) {
        try {
            expect_hash({"contiguous", true, "simd", "fp32", "1", level});
        } catch (const Error& error) {
            if (error.status() != SURROGATE_NOT_SUPPORTED) throw;
            if (job().is_root())
                std::cout << "vector level " << level << " skipped: not on this machine\n";
        }
    }
}

TEST_P(SphereMatrix, DoublePrecisionAgreesAsFarAsTheTruthIsKnown) {
    const CheckResult result = run({"uneven", false, "ref", "fp64", "1", ""});
    EXPECT_EQ(result.outcome.bound, 1e-6);
}

const Case cases[] = {
    {"operators/attention_0", true},  // global, to itself
    {"operators/attention_1", true},  // neighbors, to itself
    {"operators/attention_2", true},  // to a coarser grid: queries on the other domain
    {"operators/attention_3", true},  // to a finer grid
    {"operators/attention_4", true},  // q/k norm, other widths than the input's
    {"operators/attention_5", true},  // global between two grids, q/k norm, 5 rows on 8 ranks
    {"operators/disco_0", true},      // to a coarser grid
    {"operators/disco_1", true},      // groups
    {"operators/disco_2", true},      // isotropic basis
    {"operators/disco_3", true},      // harmonic basis
    {"operators/disco_4", true},      // Zernike basis, mean norm
    {"operators/disco_5", true},      // transposed, to a finer grid
    {"operators/resample_0", true},   // from a grid without poles
    {"operators/resample_1", true},   // to one
    {"operators/resample_2", true},   // nlon that does not divide
    {"transformer_neighborhood_24x48", true},
    {"transformer_global_24x48", true},
    {"transformer_heads_bias_33x64", false},  // two samples, odd rows, biases, layer norm
    {"transformer_paper_64x128", false},      // the paper's set-up
    {"segformer_neighborhood_64x128",
     false},                            // levels down to 8 x 16: fewer rows than 8 ranks need
    {"segformer_global_48x96", false},  // .. to 6 x 12
    {"shallow_water", false},           // the installed model, two samples
};

INSTANTIATE_TEST_SUITE_P(Cases, SphereMatrix, testing::ValuesIn(cases), [](const auto& test) {
    std::string name = test.param.file;
    for (char& c : name)
        if (c == '/') c = '_';
    return name;
});

}  // namespace
}  // namespace surrogate::tool
