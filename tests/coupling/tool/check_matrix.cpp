// SPDX-License-Identifier: Apache-2.0
// Every check case on every backend, in every mode and partition, on the ranks of this launch: the
// answer, what it cost in messages, and in reproducible mode the bits.
#include <gtest/gtest.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "coupling/case/check_case.hpp"
#include "tests/coupling/tool/check_ranks.hpp"

namespace surrogate::tool {
namespace {

std::string path_of(const std::string& name) {
    if (name == "darcy_flow") return SURROGATE_SHARE "/models/darcy_flow.safetensors";
    if (name == "darcy_flow_official") return SURROGATE_TEST_DATA "/darcy_flow/model.safetensors";
    return std::string(SURROGATE_TEST_DATA "/flare/") + name + ".safetensors";
}

/// Traffic of FLARE: two all-reduces per block, 4 M (C + 2 H) bytes in single precision, and
/// nothing else. Tokens of a sequence are also exchanged; the plan's table lists their bytes, which
/// the conformance tests of all families compare.
struct Traffic {
    int64_t bytes, collectives;
};
bool is_sequence(const Model& model) {
    const auto network = nlohmann::json::parse(model.describe()).at("card").at("network");
    return network.value("model", "") == "ModelWrapper";
}
Traffic traffic_of(const Model& model) {
    const auto network = nlohmann::json::parse(model.describe()).at("card").at("network");
    const auto get = [&](const char* key) { return network.at(key).get<int64_t>(); };
    const int64_t blocks = get("num_blocks");
    return {blocks * 4 * get("num_latents") * (get("channel_dim") + 2 * get("num_heads")),
            2 * blocks};
}

class CheckMatrix : public testing::TestWithParam<std::tuple<const char*, const char*>> {
protected:
    CheckMatrix()
        : context_(job().make_context()), loaded_(load_case(job(), context_, path_of(name()))) {}

    static std::string name() { return std::get<0>(GetParam()); }
    static std::string backend() { return std::get<1>(GetParam()); }

    CheckResult run(const CheckSettings& settings) const {
        const CheckResult result = run_check(job(), context_, loaded_, settings);
        EXPECT_TRUE(result.outcome.is_passed)
            << settings.partition << ": relative_l2 " << result.outcome.relative_l2 << ", allowed "
            << result.outcome.bound;
        EXPECT_EQ(result.backend, settings.backend);
        return result;
    }

    void expect_hash(const CheckSettings& settings) const {
        const CheckResult result = run(settings);
        if (!job().is_root()) return;
        EXPECT_EQ(result.hash, hashes().expected(name() + " " + backend(), result.hash))
            << settings.partition << ", " << result.threads << " threads, " << result.vector;
    }

    /// Returns whether this machine has the vector level, which a plan tells as to a user.
    bool has_vector(const std::string& level) const {
        try {
            const double none = 0;
            const Domain domain(context_, matrix(&none, 0, 0));
            const Plan plan(loaded_.model, domain, {{"backend", "simd"}, {"vector", level}});
            return true;
        } catch (const Error& error) {
            if (error.status() == SURROGATE_NOT_SUPPORTED) return false;
            throw;
        }
    }

    Context context_;
    LoadedCase loaded_;
};
class VectorLevels : public CheckMatrix {};
class DoublePrecision : public CheckMatrix {};

TEST_P(CheckMatrix, FastModeIsRightAndSendsWhatTheFormulaSays) {
    const Traffic traffic = traffic_of(loaded_.model);
    for (const char* partition : partitions) {
        const CheckResult result = run({partition, false, backend(), "fp32", "", ""});
        if (is_sequence(loaded_.model)) continue;
        EXPECT_EQ(result.bytes_sent_per_rank, traffic.bytes) << partition;
        EXPECT_EQ(result.collectives, traffic.collectives) << partition;
    }
}

TEST_P(CheckMatrix, ReproducibleModeGivesOneHash) {
    for (const char* partition : partitions)
        expect_hash({partition, true, backend(), "fp32", "", ""});
    expect_hash({"contiguous", true, backend(), "fp32", "1", ""});
    expect_hash({"scattered", true, backend(), "fp32", "2", ""});
}

TEST_P(VectorLevels, AllGiveTheHashOfTheReproducibleMode) {
    for (const char* level : {"avx512", "avx2", "neon", "scalar"}) {
        if (has_vector(level))
            expect_hash({"contiguous", true, "simd", "fp32", "", level});
        else if (job().is_root())
            std::cout << "vector level " << level << " skipped: not on this machine\n";
    }
}

TEST_P(DoublePrecision, AgreesToRounding) {
    const CheckResult result = run({"uneven", false, "ref", "fp64", "", ""});
    // The official tables of sines are in single precision, also in its run in double.
    const bool has_sines = is_sequence(loaded_.model) && name() != "sequence_cls_abs";
    EXPECT_EQ(result.outcome.bound, has_sines ? 1e-6 : 1e-10);
}

const auto cases = testing::Values("tiny",          // fewer points than ranks
                                   "tiny_options",  // every option that is not the default
                                   "mid",           // trained weights
                                   "odd",     // prime number of points, two samples, two outputs
                                   "layers",  // all depths and widths of the chains
                                   "darcy_flow",           // the installed model
                                   "darcy_flow_official",  // four samples
                                   "ablation_shared", "ablation_latent_blocks",
                                   "lra_mean_sin",     // one row for a sequence, three samples
                                   "lra_tokens_mask",  // a row for each token, some are padding
                                   "sequence_cls_abs", "sequence_max_rope",
                                   "sequence_mean_mask");  // two tiles of tokens
const auto name_of = [](const auto& test) {
    return std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
};
INSTANTIATE_TEST_SUITE_P(Cases, CheckMatrix,
                         testing::Combine(cases, testing::Values("ref", "simd")), name_of);
INSTANTIATE_TEST_SUITE_P(Cases, VectorLevels, testing::Combine(cases, testing::Values("simd")),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Cases, DoublePrecision, testing::Combine(cases, testing::Values("ref")),
                         name_of);

}  // namespace
}  // namespace surrogate::tool
