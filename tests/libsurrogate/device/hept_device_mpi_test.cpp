// SPDX-License-Identifier: Apache-2.0
// HEPT with backend cuda on several ranks, each with an emulated device: the bits of one rank under
// every partition, staged and over a NCCL that is pretended; one rank at fault.
#include <cmath>
#include <span>

#include "tests/support/device_ranks.hpp"
#include "tests/support/hept_case.hpp"
#include "tests/support/hept_models.hpp"
#include "tests/support/plan_traffic.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// Returns the results of one rank for all points.
std::vector<double> alone(const std::string& path, const Hits& hits, const Options& options) {
    const Context context = device_context(emulated_kind, impl::self_communicator());
    return run(context, Model(context, path), hits, options);
}

const json pileup = {{"task", "pileup"}, {"num_classes", nullptr}, {"in_dim", 3}};

/// Networks whose ranks need different things of each other.
const std::vector<json>& networks() {
    static const std::vector<json> list = {
        small_hept(),
        small_hept({{"padding", "duplicate"}}),
        small_hept({{"padding", "zero"}}),
        small_hept({{"n_hashes", 1}, {"num_heads", 5}}),
        small_hept({{"block_size", 1}}),
        small_hept({{"block_size", 1024}}),  // all on one rank
        small_hept({{"num_classes", nullptr}, {"coords_dim", 3}, {"h_dim", 7}}),
        small_hept({{"h_dim", 24}, {"coords_dim", 6}, {"in_dim", 15}, {"num_classes", 20}}),
        small_hept(pileup),
    };
    return list;
}

/// Uses the first n_network networks: all ranks have points, or some none, or one most of them.
void expect_bits_of_one_rank(const Context& context, size_t n_network,
                             const std::vector<const char*>& precisions) {
    for (const json& network : std::span(networks()).first(n_network)) {
        const ModelOnDisk disk(hept_network(network).bytes());
        const Model model(context, disk.path());
        for (const auto& [n, partition] :
             {std::pair(1, "scattered"), std::pair(40, "contiguous"), std::pair(150, "uneven")}) {
            const Hits hits = Hits::random(network, n);
            const std::vector<int64_t> rows = own_rows(partition, n, world);
            for (const char* precision : precisions) {
                SCOPED_TRACE(network.dump() + " " + partition + " " + precision);
                expect_rows(run(context, model, hits.rows(rows), by_cuda(precision)), rows,
                            alone(disk.path(), hits, by_cuda(precision)), n);
            }
        }
    }
}

TEST(HeptRanks, BitsAreThoseOfOneRank) {
    const Context context = ranks_context(false);
    expect_bits_of_one_rank(context, networks().size(), {"fp32"});
    expect_bits_of_one_rank(context, 2, {"fp16"});
}

TEST(HeptRanks, GraphsHoldTheExchanges) {
    FakeNccl nccl;
    pretended = &nccl;
    {
        const Context context = ranks_context(false, pretended_nccl);
        expect_bits_of_one_rank(context, 2, {"fp32"});
    }
    EXPECT_EQ(nccl.misuse(), "");
}

TEST(HeptRanks, CloudsMayBeSpread) {
    const Context context = ranks_context(false);
    for (const char* padding : {"masked", "duplicate"}) {
        const json network = small_hept({{"padding", padding}});
        const ModelOnDisk disk(hept_network(network).bytes());
        const Model model(context, disk.path());
        Hits hits = Hits::random(network, 90);
        for (int64_t i = 0; i < hits.n; ++i) hits.clouds.push_back(i < 3 ? 0 : i < 40 ? 2 : 3);
        const std::vector<int64_t> rows = own_rows("scattered", 90, world);
        expect_rows(run(context, model, hits.rows(rows), by_cuda()), rows,
                    alone(disk.path(), hits, by_cuda()), 90);
    }
}

TEST(HeptRanks, PointsMayMove) {
    const Context context = ranks_context(false);
    const json network = small_hept({{"padding", "duplicate"}});
    const ModelOnDisk disk(hept_network(network).bytes());
    const Model model(context, disk.path());
    Domain domain(context,
                  Hits::random(network, 60).rows(own_rows("contiguous", 60, world)).points());
    Plan plan(model, domain, by_cuda());
    for (const int64_t n : {13, 90}) {
        Hits hits = Hits::random(network, n);
        for (double& x : hits.x) x *= -0.5;
        const std::vector<int64_t> rows = own_rows("scattered", n, world);
        const Hits own = hits.rows(rows);
        domain.update_points(own.points());
        expect_rows(run(plan, own, 1), rows, alone(disk.path(), hits, by_cuda()), n);
    }
}

TEST(HeptRanks, TheTableSaysWhatWasSent) {
    for (const bool by_nccl : {false, true}) {
        FakeNccl nccl;
        pretended = &nccl;
        const Context context = ranks_context(false, by_nccl ? pretended_nccl : nullptr);
        for (const json& network : {small_hept(), small_hept({{"block_size", 1024}})}) {
            const ModelOnDisk disk(hept_network(network).bytes());
            const Model model(context, disk.path());
            const Hits own = Hits::random(network, 150).rows(own_rows("scattered", 150, world));
            const Domain domain(context, own.points());
            Plan plan(model, domain, by_cuda());
            const Traffic planned = traffic_of_table(plan);
            for (int repeat = 0; repeat < 2; ++repeat) {
                run(plan, own, 1);
                EXPECT_EQ(traffic_of_run(plan), planned) << by_nccl << " " << plan.describe();
            }
        }
    }
}

// A failure of one rank reaches the ranks whose blocks it shares: with three blocks everybody.
TEST(HeptRanks, BadInputOfOneRankIsSeenByAllAndLeavesNoTrace) {
    for (const bool by_nccl : {false, true}) {
        FakeNccl nccl;
        pretended = &nccl;
        const Context context = ranks_context(false, by_nccl ? pretended_nccl : nullptr);
        const json network = small_hept({{"block_size", 50}});
        const ModelOnDisk disk(hept_network(network).bytes());
        const Model model(context, disk.path());
        const int64_t n = 150;
        Hits own = Hits::random(network, n).rows(own_rows("scattered", n, world));
        const Domain domain(context, own.points());
        Plan plan(model, domain, by_cuda());
        const std::vector<double> expected = run(plan, own, 1);

        const Hits good = own;
        if (rank_of(world) == size_of(world) - 1) own.features.back() = NAN;
        std::vector<double> y(static_cast<size_t>(own.n), -1);
        const surrogate_named_array in{"x", matrix(own.features.data(), own.n, own.n_feature)};
        const surrogate_named_array out{"y", matrix(y.data(), own.n, 1)};
        const Answer found = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
        for (const double value : y) EXPECT_TRUE(std::isnan(value));
        EXPECT_EQ(run(plan, good, 1), expected);
    }
}

// If rows are redistributed, the rank that owns the point names it.
TEST(HeptRanks, ClassesThatDoNotExistAreNamedAtHome) {
    const Context context = ranks_context(false);
    const json network = small_hept(pileup);
    const ModelOnDisk disk(hept_network(network).bytes());
    const Model model(context, disk.path());
    const std::vector<int64_t> rows = own_rows("scattered", 60, world);
    const Hits good = Hits::random(network, 60).rows(rows);
    const Domain domain(context, good.points());
    Plan plan(model, domain, by_cuda());
    const std::vector<double> expected = run(plan, good, 1);
    Hits own = good;
    const bool is_guilty = rank_of(world) == 1;
    if (is_guilty) own.features[2] = 7;
    std::vector<double> y(static_cast<size_t>(own.n), -1);
    const surrogate_named_array in{"x", matrix(own.features.data(), own.n, 3)};
    const surrogate_named_array out{"y", matrix(y.data(), own.n, 1)};
    const Answer found = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
    EXPECT_EQ(found.status, is_guilty ? SURROGATE_INVALID_ARGUMENT : SURROGATE_NOT_FINITE) << found;
    if (is_guilty) {
        EXPECT_TRUE(found.says("is 7 at point with id " + std::to_string(rows[0])) &&
                    found.says("a whole number from 0 to 6"))
            << found;
    }
    EXPECT_EQ(run(plan, good, 1), expected);
}

}  // namespace
}  // namespace surrogate::test
