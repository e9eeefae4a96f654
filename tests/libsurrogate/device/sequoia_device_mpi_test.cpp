// SPDX-License-Identifier: Apache-2.0
// Sequoia with backend cuda on several ranks, each with an emulated device: the bits of one rank
// under every partition, staged and over a NCCL that is pretended; one rank at fault.
#include <cmath>

#include "tests/support/answer.hpp"
#include "tests/support/device_ranks.hpp"
#include "tests/support/plan_traffic.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// Returns the results of one rank for all points.
std::vector<double> alone(const std::string& path, const SequoiaCase& points,
                          const Options& options) {
    const Context context = device_context(emulated_kind, impl::self_communicator());
    return run(context, Model(context, path), points, options);
}

/// Networks whose nodes a cut level divides in different ways.
const std::vector<nlohmann::json>& networks() {
    static const std::vector<nlohmann::json> list = {
        small_sequoia(), small_sequoia({{"k", 2}, {"ancestors", "parent"}}),
        small_sequoia({{"k", 4}, {"seq_mode", "complete"}, {"ragged", "repeat"}})};
    return list;
}

void expect_bits_of_one_rank(const Context& context) {
    for (const nlohmann::json& network : networks()) {
        const ModelOnDisk disk(sequoia_model(network));
        const Model model(context, disk.path());
        for (const int64_t n : {1, 7, 61}) {
            const SequoiaCase points = SequoiaCase::wave(n);
            for (const char* precision : {"fp32", "fp16"}) {
                const std::vector<double> expected = alone(disk.path(), points, by_cuda(precision));
                for (const char* partition : {"contiguous", "scattered", "uneven"}) {
                    const std::vector<int64_t> rows = own_rows(partition, n, world);
                    SCOPED_TRACE(network.at("k").dump() + " " + std::to_string(n) + " " +
                                 precision + " " + partition);
                    expect_rows(run(context, model, points.rows(rows), by_cuda(precision)), rows,
                                expected, n);
                }
            }
        }
    }
}

TEST(SequoiaRanks, BitsAreThoseOfOneRank) {
    const Context context = ranks_context(false);
    expect_bits_of_one_rank(context);
}

TEST(SequoiaRanks, GraphsHoldTheGathers) {
    if (size_of(world) == 1) GTEST_SKIP() << "one rank gathers nothing";
    FakeNccl nccl;
    pretended = &nccl;
    {
        const Context context = ranks_context(false, pretended_nccl);
        expect_bits_of_one_rank(context);
    }
    EXPECT_EQ(nccl.misuse(), "");
}

TEST(SequoiaRanks, TheTableSaysWhatWasSent) {
    for (const bool by_nccl : {false, true}) {
        if (by_nccl && size_of(world) == 1) continue;
        FakeNccl nccl;
        pretended = &nccl;
        const Context context = ranks_context(false, by_nccl ? pretended_nccl : nullptr);
        const ModelOnDisk disk(sequoia_model(small_sequoia({{"seq_mode", "complete"}})));
        const Model model(context, disk.path());
        const SequoiaCase own = SequoiaCase::wave(61).rows(own_rows("scattered", 61, world));
        const Domain domain = own.domain(context);
        Plan plan(model, domain, by_cuda());
        const Traffic planned = traffic_of_table(plan);
        for (int repeat = 0; repeat < 2; ++repeat) {
            run(plan, model, own);
            EXPECT_EQ(traffic_of_run(plan), planned) << by_nccl;
        }
    }
}

/// Networks that predict at nodes or for the cloud: every rank has all rows.
const std::vector<nlohmann::json>& networks_of_rows() {
    static const std::vector<nlohmann::json> list = {
        small_sequoia({{"probe_layer", "root"}}),
        small_sequoia({{"pooling_mode", "MEAN"}, {"k", 2}, {"num_classes", 2}}),
        small_sequoia({{"probe_layer", "all"}, {"pooling_mode", "MEAN"}}),
        small_sequoia({{"probe_layer", "virtual"}, {"k", 2}}),
        small_sequoia({{"probe_layer", "all"}, {"num_classes", 2}})};
    return list;
}

TEST(SequoiaRanks, RowsOfNodesAndCloudsHaveTheBitsOfOneRankEverywhere) {
    for (const bool by_nccl : {false, true}) {
        if (by_nccl && size_of(world) == 1) continue;
        FakeNccl nccl;
        pretended = &nccl;
        {
            const Context context = ranks_context(false, by_nccl ? pretended_nccl : nullptr);
            for (const nlohmann::json& network : networks_of_rows()) {
                const ModelOnDisk disk(sequoia_model(network));
                const Model model(context, disk.path());
                for (const int64_t n : {1, 61}) {
                    const SequoiaCase points = SequoiaCase::wave(n);
                    const std::vector<double> expected = alone(disk.path(), points, by_cuda());
                    for (const char* partition : {"scattered", "uneven"}) {
                        SCOPED_TRACE(network.dump() + " " + partition + " " + std::to_string(n));
                        const SequoiaCase own = points.rows(own_rows(partition, n, world));
                        const Domain domain = own.domain(context);
                        Plan plan(model, domain, by_cuda());
                        const Traffic planned = traffic_of_table(plan);
                        EXPECT_EQ(run(plan, model, own), expected);
                        EXPECT_EQ(traffic_of_run(plan), planned);
                    }
                }
            }
        }
        EXPECT_EQ(nccl.misuse(), "");
    }
}

TEST(SequoiaRanks, BadInputOfOneRankSpoilsTheRowsOfAll) {
    const Context context = ranks_context(false);
    for (nlohmann::json network : networks_of_rows()) {
        SCOPED_TRACE(network.dump());
        network["pos_enc"] = "none";
        network["c_in"] = 3;
        const ModelOnDisk disk(sequoia_model(network));
        const Model model(context, disk.path());
        SequoiaCase points = SequoiaCase::wave(61);
        points.features = points.positions;
        const SequoiaCase own = points.rows(own_rows("scattered", 61, world));
        const Domain domain = own.domain(context);
        Plan plan(model, domain, by_cuda());
        const std::vector<double> expected = run(plan, model, own);

        std::vector<double> given = own.features, y(expected.size(), -1);
        if (rank_of(world) == size_of(world) - 1) given.back() = NAN;
        const auto n_class = network.at("num_classes").get<int64_t>();
        const surrogate_named_array in{"features", matrix(given.data(), own.n, 3)};
        const surrogate_named_array out{"y", matrix(y.data(), std::ssize(y) / n_class, n_class)};
        const Answer found = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
        for (const double value : y) EXPECT_TRUE(std::isnan(value));
        EXPECT_EQ(run(plan, model, own), expected);
    }
}

// A failure of one rank reaches all ranks.
TEST(SequoiaRanks, BadInputOfOneRankIsSeenByAllAndLeavesNoTrace) {
    for (const bool by_nccl : {false, true}) {
        if (by_nccl && size_of(world) == 1) continue;
        FakeNccl nccl;
        pretended = &nccl;
        const Context context = ranks_context(false, by_nccl ? pretended_nccl : nullptr);
        const nlohmann::json network = small_sequoia({{"pos_enc", "none"}, {"c_in", 3}});
        const ModelOnDisk disk(sequoia_model(network));
        const Model model(context, disk.path());
        SequoiaCase points = SequoiaCase::wave(61);
        points.features = points.positions;
        const std::vector<int64_t> rows = own_rows("scattered", 61, world);
        SequoiaCase own = points.rows(rows);
        const Domain domain = own.domain(context);
        Plan plan(model, domain, by_cuda());
        const std::vector<double> expected = run(plan, model, own);

        const int culprit = size_of(world) - 1;
        std::vector<double> given = own.features, y(rows.size(), -1);
        if (rank_of(world) == culprit) given.back() = NAN;
        const auto n = static_cast<int64_t>(rows.size());
        const surrogate_named_array in{"features", matrix(given.data(), n, 3)};
        const surrogate_named_array out{"y", matrix(y.data(), n, 1)};
        const Answer found = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
        for (const double value : y) EXPECT_TRUE(std::isnan(value));
        EXPECT_EQ(run(plan, model, own), expected);
    }
}

}  // namespace
}  // namespace surrogate::test
