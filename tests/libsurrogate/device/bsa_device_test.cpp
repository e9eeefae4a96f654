// SPDX-License-Identifier: Apache-2.0
// Ball Sparse Attention with backend cuda on one rank: every variant against the host in double,
// stored cases in every precision. On an emulated device, and on a real one where there is one.
#include <cmath>

#include "tests/support/answer.hpp"
#include "tests/support/bsa_models.hpp"
#include "tests/support/device_accuracy.hpp"
#include "tests/support/device_case.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

class BsaDevice : public OnDevice {
protected:
    std::vector<double> on_device(const Model& model, const SequoiaCase& points,
                                  const std::string& precision = "fp32") {
        return run(*context, model, points, {{"backend", "cuda"}, {"precision", precision}});
    }
    std::vector<double> in_double(const Model& model, const SequoiaCase& points) {
        return run(*context, model, points, {{"precision", "fp64"}});
    }
};
INSTANTIATE_TEST_SUITE_P(On, BsaDevice, testing::Values(emulated_kind, real_kind), name_of_device);

struct Variant {
    const char* name;
    json changes = json::object(), attention = json::object();
};

const std::vector<Variant>& variants() {
    static const std::vector<Variant> list = {
        {"default"},
        {"balls alone", {{"attention_type", "ball"}}},
        {"all slots", {{"attention_type", "global"}}},
        {"every slot chooses", {}, {{"use_group_selection", false}}},
        {"groups of two tiles", {{"ball_size", 32}}, {{"group_selection_size", 32}}},
        {"blocks of queries", {}, {{"use_coarse_q_attn", true}}},
        {"coarse importance", {}, {{"use_coarse_q_importance", true}}},
        {"means", {}, {{"use_compress_mlp", false}}},
        {"one gate for all", {}, {{"use_token_gated_attention", false}}},
        {"own blocks too", {}, {{"should_mask_blocks_in_ball", false}}},
        {"many blocks", {}, {{"selected_blocks_number", 7}}},
        {"linear features", {{"pos_enc", "linear"}}},
        {"given features", {{"pos_enc", "none"}}},
        {"outputs", {{"c_out", 3}}},
        {"no block residuals", {{"block_size", 0}}},
        {"not rotated", {{"should_rotate", false}}},
        {"rotated to balls", {{"rotated_order", "ball"}}},
        {"small balls", {{"ball_size", 8}}},
        {"wide head", {{"c_hidden", 48}, {"num_heads", 1}}},
        {"odd heads", {{"c_hidden", 20}, {"num_heads", 4}}},
        {"more heads than a block has warps", {{"c_hidden", 40}, {"num_heads", 10}}},
        {"two axes", {{"dimensionality", 2}}},
        {"one axis", {{"dimensionality", 1}}},
    };
    return list;
}

SequoiaCase points_for(const json& network, int64_t n) {
    SequoiaCase points = SequoiaCase::wave(n, network.value("dimensionality", 3));
    if (network.value("pos_enc", "fourier") == "none")
        points.features = SequoiaCase::wave(n, network.at("c_in").get<int64_t>()).positions;
    return points;
}

/// Products drop 2^-21 of either operand, 8 times what single precision rounds by. Where the host errs
/// less than that, by few points or luck: two operands, four products in each of four layers make
/// sqrt(32) 2^-21, taken twice.
double bound_of_products(double host_error) {
    return std::max(8 * host_error, 5.4e-6);
}

TEST_P(BsaDevice, EveryVariantIsThatOfTheHost) {
    for (const Variant& v : variants()) {
        const json network = small_bsa(v.changes, v.attention);
        const ModelOnDisk disk(bsa_network(network).bytes());
        const Model model(*context, disk.path());
        for (const int64_t n : {1, 2, 23, 130}) {
            const SequoiaCase points = points_for(network, n);
            const std::vector<double> exact = in_double(model, points);
            const double host = relative_l2(run(*context, model, points), exact);
            EXPECT_LE(relative_l2(on_device(model, points), exact), bound_of_products(host))
                << v.name << ", " << n << " points";
        }
    }
}

TEST_P(BsaDevice, NoPointsAreNoWork) {
    const ModelOnDisk disk(bsa_network(small_bsa()).bytes());
    const Model model(*context, disk.path());
    EXPECT_TRUE(on_device(model, SequoiaCase::wave(0)).empty());
}

TEST_P(BsaDevice, StoredCasesAreAsCloseAsPyTorch) {
    for (const char* name :
         {"ball_baseline", "bsa_1d", "bsa_features_rotated_ball", "bsa_group8_block4",
          "bsa_group_compression_grad", "bsa_mean_static_sigma_grad", "bsa_n5", "bsa_no_group",
          "bsa_paper_width_2d", "bsa_small_grad", "full_baseline"}) {
        const std::string path = SURROGATE_TEST_DATA "/bsa/" + std::string(name) + ".safetensors";
        const GoldenFile file(path);
        const Model model(*context, path);
        const std::vector<double> truth = file.tensor("check/output64/y").values;
        const double official = relative_l2(file.tensor("check/output/y").values, truth);
        EXPECT_LE(relative_l2(on_device(model, SequoiaCase(file)), truth), bound_of_fp32(official))
            << name;
    }
}

// Where all blocks are chosen no rounding changes a choice. As in Sequoia: about four independent
// errors of the size that rounding the weights alone makes, which is computed here.
TEST_P(BsaDevice, NarrowOperandsCostWhatRoundingCosts) {
    for (const json& changes : {json::object(), json{{"c_hidden", 48}, {"num_heads", 1}}}) {
        const ModelWriter writer =
            bsa_network(small_bsa(changes, {{"selected_blocks_number", 16}}));
        const ModelOnDisk disk(writer.bytes());
        const Model model(*context, disk.path());
        const SequoiaCase points = SequoiaCase::wave(60);
        const std::vector<double> exact = in_double(model, points);
        for (const auto& [precision, n_bit] :
             {std::pair("tf32", 10), std::pair("fp16", 10), std::pair("bf16", 7)}) {
            const ModelOnDisk narrow(rounded(writer, n_bit).bytes());
            const double cost =
                relative_l2(in_double(Model(*context, narrow.path()), points), exact);
            const double error = relative_l2(on_device(model, points, precision), exact);
            EXPECT_LE(error, 4 * cost) << precision << " " << changes;
            EXPECT_GE(error, cost / 8) << precision << " " << changes;  // really used
        }
    }
}

TEST_P(BsaDevice, BitsDoNotDependOnTheOrderOfPoints) {
    const ModelOnDisk disk(bsa_network(small_bsa()).bytes());
    const Model model(*context, disk.path());
    const SequoiaCase points = SequoiaCase::wave(70);
    std::vector<int64_t> rows = points.all();
    std::reverse(rows.begin(), rows.end());
    const std::vector<double> ordered = on_device(model, points);
    std::vector<double> reversed = on_device(model, points.rows(rows));
    std::reverse(reversed.begin(), reversed.end());
    EXPECT_EQ(ordered, reversed);
}

TEST_P(BsaDevice, PointsMayMove) {
    const ModelOnDisk disk(bsa_network(small_bsa()).bytes());
    const Model model(*context, disk.path());
    SequoiaCase points = SequoiaCase::wave(60);
    Domain domain = points.domain(*context);
    Plan plan(model, domain, {{"backend", "cuda"}});
    for (const int64_t n : {60, 13, 90}) {
        points = SequoiaCase::wave(n);
        for (double& x : points.positions) x *= -0.5;
        domain.move({matrix(points.positions.data(), n, points.n_axis), points.ids.data(), nullptr,
                     nullptr});
        EXPECT_EQ(run(plan, model, points), on_device(model, points)) << n;
    }
}

TEST_P(BsaDevice, NothingIsAllocatedInARunAndNothingIsSent) {
    if (GetParam().plugin != emulated_kind.plugin) GTEST_SKIP() << "only the emulation counts";
    const ModelOnDisk disk(bsa_network(small_bsa()).bytes());
    const Model model(*context, disk.path());
    const SequoiaCase points = SequoiaCase::wave(50);
    const Domain domain = points.domain(*context);
    Plan plan(model, domain, {{"backend", "cuda"}});
    run(plan, model, points);
    const int64_t before = emulated_device().counts().n_allocation;
    for (int i = 0; i < 3; ++i) run(plan, model, points);
    EXPECT_EQ(emulated_device().counts().n_allocation, before);
    const std::string table = plan.describe();
    for (const char* part :
         {"embed", "layers.1 ball", "layers.1 selected, mlp", "slots of a ball tree"})
        EXPECT_NE(table.find(part), std::string::npos) << table;
    EXPECT_EQ(plan.counter("collectives"), 0);
    EXPECT_EQ(plan.counter("bytes_sent"), 0);
}

TEST_P(BsaDevice, ArraysOnTheDeviceAreReadWhereTheyLieAndBadOnesNamed) {
    const json network = small_bsa({{"pos_enc", "none"}});
    const ModelOnDisk disk(bsa_network(network).bytes());
    const Model model(*context, disk.path());
    const SequoiaCase points = points_for(network, 37);
    const std::vector<double> expected = on_device(model, points);
    const Domain domain = points.domain(*context);
    Plan plan(model, domain, {{"backend", "cuda"}});
    DeviceArray<double> features(*device, points.features);
    const DeviceArray<double> y(*device, std::vector<double>(37, -1));
    const auto run_there = [&] {
        const surrogate_named_array in{"features", features.matrix(37, 16)};
        const surrogate_named_array out{"y", y.matrix(37, 1)};
        return answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
    };
    EXPECT_EQ(run_there().status, SURROGATE_SUCCESS);
    EXPECT_LE(relative_l2(y.get(), expected), 1e-7);  // float's rounding of what is a double there
    std::vector<double> bad = points.features;
    bad[16 * 11 + 5] = NAN;
    features.put(bad);
    const Answer found = run_there();
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
    EXPECT_TRUE(found.says("point with id 11")) << found;
    for (const double value : y.get()) EXPECT_TRUE(std::isnan(value));
    features.put(points.features);
    EXPECT_EQ(run_there().status, SURROGATE_SUCCESS);
    EXPECT_LE(relative_l2(y.get(), expected), 1e-7);
}

TEST_P(BsaDevice, ScoresThatAreNotFiniteEndTheRun) {
    ModelWriter writer = bsa_network(small_bsa());
    for (WriterTensor& tensor : writer.tensors) {
        if (tensor.name != "main_model.layers.0.attn.qkv.weight") continue;
        for (size_t at = 0; at < tensor.bytes.size(); at += sizeof(float)) {
            float value;
            std::memcpy(&value, &tensor.bytes[at], sizeof value);
            value *= 1e25F;
            std::memcpy(&tensor.bytes[at], &value, sizeof value);
        }
    }
    const ModelOnDisk disk(writer.bytes());
    const Model model(*context, disk.path());
    const SequoiaCase points = SequoiaCase::wave(40);
    const Domain domain = points.domain(*context);
    for (const char* backend : {"cuda", "simd"}) {
        Plan plan(model, domain, {{"backend", backend}});
        std::vector<double> y(40, -1);
        const surrogate_named_array out{"y", matrix(y.data(), 40, 1)};
        const Answer found = answer(surrogate_plan_run_network(plan.get(), 0, nullptr, 1, &out));
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << backend << found;
        for (const double value : y) EXPECT_TRUE(std::isnan(value)) << backend;
    }
}

TEST_P(BsaDevice, SizesThatAreNotTakenAreNamedWithTheLimit) {
    const std::vector<std::tuple<json, const char*, const char*>> refused = {
        {small_bsa({{"c_hidden", 136}, {"num_heads", 1}}), "channels of a head up to 128", "136"},
        {small_bsa({}, {{"selected_blocks_number", 33}}), "selected_blocks_number up to 32", "33"},
    };
    for (const auto& [network, limit, value] : refused) {
        const ModelOnDisk disk(bsa_network(network).bytes());
        const Model model(*context, disk.path());
        const Domain domain = SequoiaCase::wave(20).domain(*context);
        surrogate_plan* plan = nullptr;
        const Options options{{"backend", "cuda"}};
        const Answer found =
            answer(surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan));
        EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
        EXPECT_TRUE(found.says(limit) && found.says(value)) << found;
        surrogate_plan_destroy(&plan);
    }
}

}  // namespace
}  // namespace surrogate::test
