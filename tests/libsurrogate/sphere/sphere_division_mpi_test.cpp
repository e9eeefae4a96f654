// SPDX-License-Identifier: Apache-2.0
// Attention of rows near the poles divided between ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "libsurrogate/src/model/sphere/attention.hpp"
#include "libsurrogate/src/model/sphere/band_choice.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;
namespace sphere = impl::sphere;
using impl::Range;

// ---- shares ----

struct Costs {
    explicit Costs(const kernels::Grid& grid, double point_flops = 2000) {
        const double cutoff = 7 / std::sqrt(M_PI) * M_PI / static_cast<double>(grid.n_lat - 1);
        row = sphere::row_costs(grid, grid, cutoff, {point_flops, 400});
        pairs = sphere::row_costs(grid, grid, cutoff, {0, 400});
    }
    double mean(int n_rank) const { return std::accumulate(row.begin(), row.end(), 0.0) / n_rank; }
    /// Largest part of a row that is not divided further.
    double most_of_a_part(const sphere::Bands& bands, int n_rank) const {
        const double units = static_cast<double>(bands.grid().n_lon) / 16;
        double most = 0;
        for (size_t i = 0; i < row.size(); ++i)
            most = std::max(
                most, pairs[i] > mean(n_rank) / 2 ? row[i] - pairs[i] + pairs[i] / units : row[i]);
        return most;
    }
    std::vector<double> row, pairs;
};

/// Ranks from north to south, not in the order of their numbers.
std::vector<int> order_of(int n_rank) {
    std::vector<int> order(static_cast<size_t>(n_rank));
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin(), order.begin() + n_rank / 3, order.end());
    return order;
}

void expect_each_query_once(const sphere::Bands& bands, const std::vector<int>& order) {
    const int64_t n_lon = bands.grid().n_lon;
    int64_t point = 0, row = 0;
    for (const int rank : order) {
        const Range share = bands.share_of(rank), band = bands.of(rank);
        EXPECT_EQ(share.begin, point);
        EXPECT_LE(share.begin, share.end);
        EXPECT_EQ(share.begin % n_lon % 16, 0);
        EXPECT_EQ(band.begin, row);
        // A row belongs to the rank that has its first column.
        EXPECT_EQ(band.begin, (share.begin + n_lon - 1) / n_lon);
        EXPECT_EQ(band.end, (share.end + n_lon - 1) / n_lon);
        point = share.end;
        row = band.end;
    }
    EXPECT_EQ(point, bands.grid().n_lat * n_lon);
    EXPECT_EQ(row, bands.grid().n_lat);
}

TEST(SphereShares, HaveEveryQueryOnceAndCostLittleMoreThanTheMean) {
    for (const kernels::Grid grid : {kernels::Grid{kernels::GridKind::equiangular, 64, 128},
                                     kernels::Grid{kernels::GridKind::legendre_gauss, 33, 72}}) {
        const Costs costs(grid);
        for (const int n_rank : {1, 2, 5, 16, 31, 32, 64, 100, 500, 3000}) {
            SCOPED_TRACE(std::to_string(n_rank) + " ranks");
            const auto order = order_of(n_rank);
            const auto bands = sphere::divided_bands(grid, costs.row, costs.pairs, order);
            expect_each_query_once(bands, order);
            const double most = bands.imbalance(costs.row, costs.pairs) * costs.mean(n_rank);
            EXPECT_LE(most, 1.0001 * (costs.mean(n_rank) + costs.most_of_a_part(bands, n_rank)));
        }
    }
}

TEST(SphereShares, AreWholeRowsOnFewRanks) {
    const kernels::Grid grid{kernels::GridKind::equiangular, 64, 128};
    const Costs costs(grid);
    const double heaviest = *std::ranges::max_element(costs.pairs);
    for (int n_rank = 1; n_rank <= 100; ++n_rank) {
        const auto bands = sphere::divided_bands(grid, costs.row, costs.pairs, order_of(n_rank));
        if (heaviest <= costs.mean(n_rank) / 2) {
            EXPECT_FALSE(bands.is_divided()) << n_rank;
            EXPECT_EQ(bands.n_divided_row(), 0);
        }
        if (n_rank == 8) {
            EXPECT_FALSE(bands.is_divided());
        }
        if (n_rank == 100) {
            EXPECT_TRUE(bands.is_divided());
            EXPECT_GT(bands.n_divided_row(), 0);
            EXPECT_LT(bands.n_divided_row(), 64);
        }
    }
}

TEST(SphereShares, SendQueriesAndTakeAveragesInTheSameSegments) {
    const kernels::Grid grid{kernels::GridKind::equiangular, 16, 200};
    const Costs costs(grid, 10);
    const int n_rank = 40;
    const auto bands = sphere::divided_bands(grid, costs.row, costs.pairs, order_of(n_rank));
    ASSERT_TRUE(bands.is_divided());
    int64_t n_query = 0, n_average = 0;
    for (int owner = 0; owner < n_rank; ++owner) {
        std::vector<impl::NeighborExchange::Want> averages;
        bands.add_average_wants(owner, averages);
        for (const auto& want : averages) {
            EXPECT_NE(want.rank, owner);
            EXPECT_LE(want.segment.count, kernels::tile_points);
            n_average += want.segment.count;
            std::vector<impl::NeighborExchange::Want> queries;
            bands.add_query_wants(want.rank, 1000, queries);
            EXPECT_EQ(std::ranges::count_if(queries,
                                            [&](const auto& query) {
                                                return query.rank == owner &&
                                                       query.segment.row ==
                                                           want.segment.row + 1000 &&
                                                       query.segment.first == want.segment.first &&
                                                       query.segment.count == want.segment.count;
                                            }),
                      1);
        }
        std::vector<impl::NeighborExchange::Want> queries;
        bands.add_query_wants(owner, 1000, queries);
        for (const auto& query : queries) n_query += query.segment.count;
    }
    EXPECT_GT(n_query, 0);
    EXPECT_EQ(n_query, n_average);
}

// ---- predictions ----

/// Models whose rows are divided on five ranks.
std::vector<std::pair<std::string, json>> divided_models() {
    return {
        {"attention", changed(small_attention(), {{"in_shape", {6, 40}}, {"out_shape", {6, 40}}})},
        {"transformer", changed(small_transformer(), {{"img_size", {12, 64}}})},
        {"layer_norm", changed(small_transformer(),
                               {{"img_size", {12, 132}}, {"normalization_layer", "layer_norm"}})},
        {"segformer", changed(small_segformer(), {{"img_size", {12, 256}},
                                                  {"embed_dims", {16, 18}},
                                                  {"heads", {8, 9}},
                                                  {"kernel_shape", {2, 2}}})}};
}

class SphereDivision : public testing::Test {
protected:
    /// Runs a model on blocks of a partition, and compares the results of this rank with one rank.
    void expect_results_of_one_rank(const ModelOnDisk& file, const std::string& partition,
                                    const Options& options, double tolerance) {
        const Model model(context, file.path());
        SphereRun run(context, model, {.name = "", .partition = partition}, options);
        const auto inputs = wave_inputs(model);
        const std::vector<double> whole = evaluate(file.path(), inputs, options);
        for (int repeated = 0; repeated < 2; ++repeated) {
            run.fill(inputs);
            ASSERT_EQ(run.run_network(), SURROGATE_SUCCESS);
            const auto expected = run.result().points_of(whole);
            if (tolerance == 0) {
                EXPECT_EQ(run.result().points(), expected) << run.plan.describe();
            } else {
                EXPECT_LE(largest_difference(run.result().points(), expected, largest(whole)),
                          tolerance);
            }
        }
    }

    const Context context = mpi_context(world);
};

TEST_F(SphereDivision, HappensOnFiveRanksAndIsInTheTable) {
    for (const auto& [name, network] : divided_models()) {
        const ModelOnDisk file(network);
        const Model model(context, file.path());
        SphereRun run(context, model, {.name = ""});
        const std::string table = run.plan.describe();
        if (context.size() < 5) continue;
        EXPECT_NE(table.find("rows is divided between ranks"), std::string::npos) << name << table;
        EXPECT_NE(table.find("attention averages"), std::string::npos) << name << table;
    }
}

TEST_F(SphereDivision, TakesNoMemoryInRuns) {
    for (const auto& [name, network] : divided_models()) {
        const ModelOnDisk file(network);
        const Model model(context, file.path());
        SphereRun run(context, model, {.name = ""});
        run.fill(wave_inputs(model));
        const auto in = run.arrays(false), out = run.arrays(true);
        const auto evaluate_once = [&] {
            return surrogate_plan_run_network(run.plan.get(), static_cast<int32_t>(in.size()),
                                              in.data(), static_cast<int32_t>(out.size()),
                                              out.data());
        };
        EXPECT_EQ(evaluate_once(), SURROGATE_SUCCESS);
        const MemoryMeter meter;
        EXPECT_EQ(evaluate_once(), SURROGATE_SUCCESS);
        EXPECT_EQ(meter.n_allocation(), 0) << name;
    }
}

TEST_F(SphereDivision, IsNotMadeForTraining) {
    for (const auto& [name, network] : divided_models()) {
        const ModelOnDisk file(network);
        const Model model(context, file.path());
        SphereRun run(context, model, {.name = ""}, {{"gradients", "true"}});
        EXPECT_EQ(run.plan.describe().find("divided between ranks"), std::string::npos) << name;
    }
}

TEST_F(SphereDivision, PredictsTheBitsOfOneRank) {
    const std::pair<const char*, const char*> runs[] = {
        {"contiguous", "1"}, {"scattered", "3"}, {"uneven", "1"}};
    for (const auto& [name, network] : divided_models()) {
        const ModelOnDisk file(network);
        for (const auto& [partition, threads] : runs) {
            SCOPED_TRACE(name + ", " + partition + ", threads " + threads);
            expect_results_of_one_rank(file, partition,
                                       {{"reproducible", "true"}, {"threads", threads}}, 0);
        }
    }
}

TEST_F(SphereDivision, PredictsTheValuesOfOneRankInFastMode) {
    for (const auto& [name, network] : divided_models()) {
        const ModelOnDisk file(network);
        for (const char* partition : {"contiguous", "scattered", "uneven"}) {
            SCOPED_TRACE(name + ", " + partition);
            expect_results_of_one_rank(file, partition, {}, 1e-5);
        }
    }
}

}  // namespace
}  // namespace surrogate::test
