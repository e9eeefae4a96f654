// SPDX-License-Identifier: Apache-2.0
// Plans of tokens on ranks against their definition.
#include "tests/libsurrogate/hept/planned_tokens.hpp"

namespace surrogate::test {
namespace {

TEST(TokenPlanRanks, HavePointsWhereTheirBlocksAre) {
    for_all([](const auto&... given) {
        PlannedTokens tokens(given...);
        tokens.expect_home_in_order();
        tokens.expect_blocks_of_this_rank();
    });
}

TEST(TokenPlanRanks, KnowTheTokensOfTheirCells) {
    for_all([](const auto&... given) {
        PlannedTokens tokens(given...);
        tokens.exchange_numbers<double>();
        tokens.expect_cells();
        tokens.expect_only_visitors_that_are_needed();
    });
}

/// Everything that a plan says.
std::vector<std::vector<int64_t>> content(const TokenPlan& plan, int64_t n_row) {
    std::vector<std::vector<int64_t>> lists{
        {plan.n_point(), plan.n_own(), plan.n_token(), plan.n_place(), plan.largest_cell(),
         plan.n_cut_cell(), plan.n_visit(), plan.n_token_global()},
        {plan.copied().begin(), plan.copied().end()}};
    for (const TokenPlan::Block& block : plan.blocks())
        lists.push_back({block.first, block.n, block.n_zero_key});
    for (int64_t row = 0; row < n_row; ++row) {
        lists.push_back({plan.members(row).begin(), plan.members(row).end()});
        for (const TokenPlan::Cell& cell : plan.cells(row))
            lists.push_back({cell.begin, cell.end, cell.first, cell.last, cell.to});
    }
    for (const TokenPlan::Neighbor& neighbor : plan.neighbors()) {
        lists.push_back({neighbor.rank, neighbor.visitor_begin, neighbor.visitor_end});
        lists.push_back({neighbor.sent.begin(), neighbor.sent.end()});
        for (const auto* parts : {&neighbor.from_it, &neighbor.to_it}) {
            for (const auto& of_head : *parts)
                for (const auto& part : of_head) lists.push_back({part.token, part.table});
        }
    }
    return lists;
}

TEST(TokenPlanRanks, OfPointsThatHaveMovedAreThoseMadeAnew) {
    TokenPlan moved;
    for (const TokenCase& test : all_cases()) {
        const impl::hept::Config config = test.config(Padding::duplicate);
        HeptPlan planned(impl::mpi_communicator(world), config,
                         test.points.rows(rows_of("uneven", test.points.n())));
        planned.connect(config, test.regions);
        moved.connect(planned.comm(), config, test.regions, planned.home);
        EXPECT_EQ(content(moved, config.n_row()), content(planned.plan, config.n_row()))
            << test.name;
    }
}

}  // namespace
}  // namespace surrogate::test
