// SPDX-License-Identifier: Apache-2.0
// Ball Sparse Attention with backend cuda on one rank: every variant against the host in double,
// stored cases in every precision. On an emulated device, and on a real one where there is one.
#include <cstring>

#include "tests/support/bsa_models.hpp"
#include "tests/support/tree_device.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

class BsaDevice : public TreeDevice {};
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
        {"three heads of a group", {{"c_hidden", 24}, {"num_heads", 3}}},
        {"odd heads", {{"c_hidden", 20}, {"num_heads", 4}}},
        {"more heads than a block has warps", {{"c_hidden", 40}, {"num_heads", 10}}},
        {"two axes", {{"dimensionality", 2}}},
        {"one axis", {{"dimensionality", 1}}},
    };
    return list;
}

/// Products drop 2^-21 of either operand, 8 times what single precision rounds by. Where the host
/// errs less than that, by few points or luck: two operands, four products in each of four layers
/// make sqrt(32) 2^-21, taken twice.
double bound_of_products(double host_error) {
    return std::max(8 * host_error, 5.4e-6);
}

TEST_P(BsaDevice, EveryVariantIsThatOfTheHost) {
    for (const Variant& v : variants()) {
        const json network = small_bsa(v.changes, v.attention);
        const ModelOnDisk disk(bsa_network(network).bytes());
        const Model model(*context, disk.path());
        for (const int64_t n : {1, 2, 23, 130}) {
            const SequoiaCase points = wave_for(network, n);
            const std::vector<double> exact = in_double(model, points);
            const double host = relative_l2(run(*context, model, points), exact);
            EXPECT_LE(relative_l2(on_device(model, points), exact), bound_of_products(host))
                << v.name << ", " << n << " points";
        }
    }
}

TEST_P(BsaDevice, NoPointsAreNoWork) {
    expect_no_work_without_points(bsa_network(small_bsa()).bytes());
}

TEST_P(BsaDevice, StoredCasesAreAsCloseAsPyTorch) {
    expect_close_as_pytorch(
        "bsa", {"ball_baseline", "bsa_1d", "bsa_features_rotated_ball", "bsa_group8_block4",
                "bsa_group_compression_grad", "bsa_mean_static_sigma_grad", "bsa_n5",
                "bsa_no_group", "bsa_paper_width_2d", "bsa_small_grad", "full_baseline"});
}

// If all blocks are chosen, rounding changes no choice.
TEST_P(BsaDevice, NarrowOperandsCostWhatRoundingCosts) {
    for (const json& changes : {json::object(), json{{"c_hidden", 48}, {"num_heads", 1}}}) {
        SCOPED_TRACE(changes.dump());
        expect_cost_of_rounding(bsa_network(small_bsa(changes, {{"selected_blocks_number", 16}})),
                                60);
    }
}

TEST_P(BsaDevice, BitsDoNotDependOnTheOrderOfPoints) {
    expect_bits_of_any_order(bsa_network(small_bsa()).bytes());
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
        domain.update_points({matrix(points.positions.data(), n, points.n_axis), points.ids.data(),
                              nullptr, nullptr});
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
    expect_device_arrays(bsa_network(network).bytes(), wave_for(network, 37));
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
    const json wide = small_bsa({{"c_hidden", 136}, {"num_heads", 1}});
    const json many = small_bsa({}, {{"selected_blocks_number", 33}});
    expect_refused({
        {bsa_network(wide).bytes(), "channels of a head up to 128", "136"},
        {bsa_network(many).bytes(), "selected_blocks_number up to 32", "33"},
    });
}

}  // namespace
}  // namespace surrogate::test
