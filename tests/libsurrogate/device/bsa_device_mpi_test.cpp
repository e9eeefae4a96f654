// SPDX-License-Identifier: Apache-2.0
// Ball Sparse Attention with backend cuda on several ranks, each with an emulated device: the bits
// of one rank under every partition, staged and over a NCCL that is pretended; one rank at fault.
#include <cmath>
#include <span>

#include "tests/support/answer.hpp"
#include "tests/support/bsa_models.hpp"
#include "tests/support/device_ranks.hpp"
#include "tests/support/plan_traffic.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/tree_device.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// Returns the results of one rank for all points.
std::vector<double> alone(const std::string& path, const SequoiaCase& points,
                          const Options& options) {
    const Context context = device_context(emulated_kind, impl::self_communicator());
    return run(context, Model(context, path), points, options);
}

/// Networks whose ranks need different things of each other.
const std::vector<json>& networks() {
    static const std::vector<json> list = {
        small_bsa(),
        small_bsa({{"attention_type", "ball"}}),
        small_bsa({{"attention_type", "global"}}),
        small_bsa({}, {{"use_group_selection", false}}),
        small_bsa({{"ball_size", 32}}, {{"group_selection_size", 32}}),
        small_bsa({}, {{"use_coarse_q_attn", true}}),
        small_bsa({}, {{"use_coarse_q_importance", true}}),
        small_bsa({}, {{"use_compress_mlp", false}}),
        small_bsa({}, {{"use_token_gated_attention", false}}),
        small_bsa({}, {{"should_mask_blocks_in_ball", false}}),
        small_bsa({{"pos_enc", "none"}}),
        small_bsa({{"should_rotate", false}}),
        small_bsa({{"rotated_order", "ball"}}),
        small_bsa({{"ball_size", 8}}),
        small_bsa({{"c_hidden", 20}, {"num_heads", 4}}),
        small_bsa({{"dimensionality", 2}, {"c_out", 3}}),
    };
    return list;
}

/// Uses the first n_network networks. Few points on one partition: what differs is who has none.
void expect_bits_of_one_rank(const Context& context, size_t n_network,
                             const std::vector<const char*>& precisions) {
    for (const json& network : std::span(networks()).first(n_network)) {
        const ModelOnDisk disk(bsa_network(network).bytes());
        const Model model(context, disk.path());
        for (const int64_t n : {1, 23, 130}) {
            const SequoiaCase points = wave_for(network, n);
            for (const char* precision : precisions) {
                const std::vector<double> expected = alone(disk.path(), points, by_cuda(precision));
                const std::vector<const char*> partitions =
                    n < 130 ? std::vector{"scattered"} : std::vector{"contiguous", "uneven"};
                for (const char* partition : partitions) {
                    const std::vector<int64_t> rows = own_rows(partition, n, world);
                    SCOPED_TRACE(network.dump() + " " + std::to_string(n) + " " + precision + " " +
                                 partition);
                    expect_rows(run(context, model, points.rows(rows), by_cuda(precision)), rows,
                                expected, n);
                }
            }
        }
    }
}

TEST(BsaRanks, BitsAreThoseOfOneRank) {
    const Context context = ranks_context(false);
    expect_bits_of_one_rank(context, networks().size(), {"fp32"});
    expect_bits_of_one_rank(context, 2, {"fp16"});
}

/// A layer of Erwin alone takes whole balls: as many as ranks and two tiles do not divide too.
TEST(BsaRanks, BitsOfALayerAloneAreThoseOfOneRank) {
    const Context context = ranks_context(false);
    for (const int64_t ball : {8, 16, 64}) {
        const json network = {
            {"model", "erwin_ball_attention"}, {"dim", 24}, {"heads", 3}, {"ball", ball}};
        const ModelOnDisk disk(bsa_network(network).bytes());
        const Model model(context, disk.path());
        for (const int64_t n_ball : {1, 3, 10}) {
            SequoiaCase points = SequoiaCase::wave(n_ball * ball);
            points.features = SequoiaCase::wave(points.n, 24).positions;
            const std::vector<double> expected = alone(disk.path(), points, by_cuda());
            const std::vector<int64_t> rows = own_rows("scattered", points.n, world);
            SCOPED_TRACE(std::to_string(ball) + " " + std::to_string(n_ball));
            ASSERT_EQ(expected.size(), static_cast<size_t>(24 * points.n));
            expect_rows(run(context, model, points.rows(rows), by_cuda()), rows, expected,
                        points.n);
        }
    }
}

TEST(BsaRanks, TheNetOfErwinIsRefusedOnSeveral) {
    const Context context = ranks_context(false);
    const json network = {{"c_in", 3},         {"c_hidden", {8}}, {"ball_sizes", {4}},
                          {"enc_depths", {1}}, {"mp_steps", 0},   {"enc_num_heads", {1}}};
    const json card = {{"format", 1}, {"family", "erwin"}, {"network", network}};
    const ModelOnDisk disk(bsa_model(card).bytes());
    const Model model(context, disk.path());
    const SequoiaCase points = SequoiaCase::wave(20);
    const Domain domain = points.rows(own_rows("scattered", 20, world)).domain(context);
    surrogate_plan* plan = nullptr;
    const Options options = by_cuda();
    const Answer found =
        answer(surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan));
    if (size_of(world) == 1) {
        EXPECT_EQ(found.status, SURROGATE_SUCCESS) << found;
    } else {
        EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
        EXPECT_TRUE(found.says("Erwin's U-net on one rank")) << found;
    }
    surrogate_plan_destroy(&plan);
}

TEST(BsaRanks, GraphsHoldTheGathers) {
    FakeNccl nccl;
    pretended = &nccl;
    {
        const Context context = ranks_context(false, pretended_nccl);
        expect_bits_of_one_rank(context, 5, {"fp32"});
    }
    EXPECT_EQ(nccl.misuse(), "");
}

TEST(BsaRanks, TheTableSaysWhatWasSent) {
    for (const bool by_nccl : {false, true}) {
        FakeNccl nccl;
        pretended = &nccl;
        const Context context = ranks_context(false, by_nccl ? pretended_nccl : nullptr);
        for (const json& changes : {json::object(), json{{"attention_type", "ball"}},
                                    json{{"attention_type", "global"}}}) {
            const json network = small_bsa(changes);
            const ModelOnDisk disk(bsa_network(network).bytes());
            const Model model(context, disk.path());
            const SequoiaCase own = wave_for(network, 130).rows(own_rows("scattered", 130, world));
            const Domain domain = own.domain(context);
            Plan plan(model, domain, by_cuda());
            const Traffic planned = traffic_of_table(plan);
            for (int repeat = 0; repeat < 2; ++repeat) {
                run(plan, model, own);
                EXPECT_EQ(traffic_of_run(plan), planned) << by_nccl << " " << plan.describe();
            }
        }
    }
}

// A failure of one rank reaches all ranks that depend on it: with full and sparse attention
// everybody.
TEST(BsaRanks, BadInputOfOneRankIsSeenByAllAndLeavesNoTrace) {
    for (const bool by_nccl : {false, true}) {
        FakeNccl nccl;
        pretended = &nccl;
        const Context context = ranks_context(false, by_nccl ? pretended_nccl : nullptr);
        const json network = small_bsa({{"pos_enc", "none"}});
        const ModelOnDisk disk(bsa_network(network).bytes());
        const Model model(context, disk.path());
        const std::vector<int64_t> rows = own_rows("scattered", 130, world);
        SequoiaCase own = wave_for(network, 130).rows(rows);
        const Domain domain = own.domain(context);
        Plan plan(model, domain, by_cuda());
        const std::vector<double> expected = run(plan, model, own);

        const SequoiaCase good = own;
        if (rank_of(world) == size_of(world) - 1) own.features.back() = NAN;
        const auto n = static_cast<int64_t>(rows.size());
        const int64_t n_feature = network.at("c_in").get<int64_t>();
        std::vector<double> y(rows.size(), -1);
        const surrogate_named_array in{"features", matrix(own.features.data(), n, n_feature)};
        const surrogate_named_array out{"y", matrix(y.data(), n, 1)};
        const Answer found = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
        for (const double value : y) EXPECT_TRUE(std::isnan(value));
        EXPECT_EQ(run(plan, model, good), expected);
    }
}

}  // namespace
}  // namespace surrogate::test
