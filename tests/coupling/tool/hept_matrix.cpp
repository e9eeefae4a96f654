// SPDX-License-Identifier: Apache-2.0
// HEPT, whose check cases have clouds: the stored cases on the ranks of this launch, in every
// partition and mode, and clouds that are rejected.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "coupling/case/check_case.hpp"
#include "tests/coupling/tool/check_ranks.hpp"

namespace surrogate::tool {
namespace {

std::string path_of(const std::string& name) {
    return std::string(SURROGATE_TEST_DATA "/hept/") + name + ".safetensors";
}

class Hept : public testing::TestWithParam<const char*> {
protected:
    CheckResult run(const CheckSettings& settings) const {
        const CheckResult result = run_check(job(), context_, loaded_, settings);
        EXPECT_TRUE(result.outcome.is_passed)
            << settings.partition << ": relative_l2 " << result.outcome.relative_l2 << ", allowed "
            << result.outcome.bound;
        return result;
    }
    void expect_hash(const CheckSettings& settings) const {
        const CheckResult result = run(settings);
        if (!job().is_root()) return;
        const std::string key = std::string(GetParam()) + " " + settings.backend;
        EXPECT_EQ(result.hash, hashes().expected(key, result.hash)) << settings.partition;
    }

    const Context context_ = job().make_context();
    const LoadedCase loaded_ = load_case(job(), context_, path_of(GetParam()));
};

/// Points have ids: fast mode gives the bits of the reproducible one.
TEST_P(Hept, GivesOneHashInBothModes) {
    for (const char* partition : partitions) {
        expect_hash({partition, false, "simd", "fp32", "", ""});
        expect_hash({partition, true, "simd", "fp32", "", ""});
    }
    expect_hash({"scattered", true, "simd", "fp32", "2", ""});
    expect_hash({"contiguous", true, "simd", "fp32", "1", "scalar"});
}

TEST_P(Hept, GivesOneHashOfPlainLoops) {
    for (const char* partition : partitions) expect_hash({partition, false, "ref", "fp32", "", ""});
}

TEST_P(Hept, AgreesWithTheOfficialRunToRoundingInDouble) {
    EXPECT_EQ(run({"scattered", false, "ref", "fp64", "", ""}).outcome.bound, 1e-10);
}

INSTANTIATE_TEST_SUITE_P(Cases, Hept,
                         testing::Values("tiny",              // fewer points than ranks have blocks
                                         "odd_zero",          // keys of zeros
                                         "clouds_duplicate",  // three clouds, copies of points
                                         "masked",            // without output of the official code
                                         "pileup_977",        // classes, probabilities
                                         "tracking_1500"),    // the published shape
                         [](const auto& test) { return std::string(test.param); });

/// A stored case in which all points from `row` on are of this cloud.
std::string with_batch(const std::string& name, size_t row, int64_t value) {
    std::ifstream file(path_of(name), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    uint64_t n_header = 0;
    std::memcpy(&n_header, bytes.data(), 8);
    const auto header = nlohmann::json::parse(bytes.substr(8, n_header));
    const auto& place = header.at("check/input/batch").at("data_offsets");
    const size_t end = 8 + n_header + place.at(1).get<size_t>();
    for (size_t at = 8 + n_header + place.at(0).get<size_t>() + 8 * row; at < end; at += 8)
        std::memcpy(bytes.data() + at, &value, 8);
    return bytes;
}

/// Such bytes in a file, which only rank 0 writes and reads.
class CaseOnDisk {
public:
    explicit CaseOnDisk(const std::string& bytes) {
        if (job().is_root()) std::ofstream(path, std::ios::binary) << bytes;
    }
    ~CaseOnDisk() {
        if (job().is_root()) std::filesystem::remove(path);
    }
    CaseOnDisk(const CaseOnDisk&) = delete;
    CaseOnDisk& operator=(const CaseOnDisk&) = delete;

    const std::string path =
        SURROGATE_HASH_FILE "." + std::to_string(job().size()) + ".safetensors";
};

/// Returns the error of a check of such a file on this rank.
std::string refusal_of(const std::string& bytes) {
    const CaseOnDisk disk(bytes);
    const Context context = job().make_context();
    std::string text;
    try {
        const LoadedCase loaded = load_case(job(), context, disk.path);
        run_check(job(), context, loaded, {});
    } catch (const std::exception& error) {
        text = error.what();
    }
    return text;
}

void expect_part(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(HeptClouds, ThatGoDownAreRefusedOnAllRanks) {
    expect_part(refusal_of(with_batch("clouds_duplicate", 200, 0)),
                "check/input/batch decreases from 2 to 0 in row 200");
}

TEST(HeptClouds, BelowZeroAreRefusedOnAllRanks) {
    expect_part(refusal_of(with_batch("masked", 0, -1)), "cloud");
}

/// The stored results are for one cloud.
TEST(HeptClouds, OfZeroPaddingAreComputedEachAlone) {
    const CaseOnDisk disk(with_batch("odd_zero", 100, 1));
    const Context context = job().make_context();
    const CheckResult result = run_check(job(), context, load_case(job(), context, disk.path), {});
    EXPECT_FALSE(result.outcome.is_passed);
    EXPECT_TRUE(std::isfinite(result.outcome.relative_l2));
}

TEST(HeptClouds, MayHaveGapsInTheirNumbers) {
    const CaseOnDisk disk(with_batch("tiny", 0, 7));
    const Context context = job().make_context();
    const CheckResult result = run_check(job(), context, load_case(job(), context, disk.path), {});
    EXPECT_TRUE(result.outcome.is_passed) << result.outcome.relative_l2;
}

}  // namespace
}  // namespace surrogate::tool
