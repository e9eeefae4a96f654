// SPDX-License-Identifier: Apache-2.0
// Data sent between ranks: tokens to the ranks that need them, sums back to the owners.
#include <algorithm>

#include "tests/libsurrogate/hept/planned_tokens.hpp"
#include "tests/support/memory_meter.hpp"

namespace surrogate::test {
namespace {

TEST(TokenExchangeRanks, ReturnsEverySumOnce) {
    for_all([](const auto&... given) {
        PlannedTokens tokens(given...);
        tokens.exchange_numbers<float>();
        tokens.expect_sums_of_all_tables();
    });
}

TEST(TokenExchangeRanks, SendsWhatItSaysAndTakesNoMemory) {
    constexpr int64_t n_channel = 5, n_sum = 4;
    for (const char* name : {"one cloud", "one cell, cut by all ranks", "many small clouds"}) {
        const TokenCase test = *std::ranges::find(all_cases(), name, &TokenCase::name);
        const impl::hept::Config config = test.config(Padding::duplicate);
        HeptPlan planned(impl::mpi_communicator(world), config,
                         test.points.rows(rows_of("scattered", test.points.n())));
        planned.connect(config, test.regions);
        const int64_t n = planned.plan.n_token();
        TokenExchange<float> exchange;
        exchange.resize(planned.comm(), planned.plan, n_channel, n_sum);
        const int64_t n_row = kernels::round_up(n, kernels::tile_points);
        std::vector<float> x(static_cast<size_t>(n_row * n_channel));
        impl::hept::HeadSums<float> sums;
        sums.resize(planned.plan, config.num_heads, config.n_hashes, n_sum);
        planned.comm().reset_counters();
        const MemoryMeter meter;
        exchange.visit(planned.comm(), kernels::Queue(), {x.data(), n_channel, n});
        for (int64_t head = 0; head < config.num_heads; ++head) {
            sums.begin(head);
            exchange.return_sums(planned.comm(), kernels::Queue(), head, sums);
        }
        EXPECT_EQ(meter.n_allocation(), 0) << name;
        EXPECT_EQ(planned.comm().bytes_sent(), exchange.bytes_of_layer(n_channel)) << name;
        EXPECT_EQ(planned.comm().n_collective(),
                  planned.plan.n_visit() > 0 ? 1 + config.num_heads : 0);
        EXPECT_EQ(exchange.messages_of_layer() > 0, exchange.bytes_of_layer(n_channel) > 0);
    }
}

}  // namespace
}  // namespace surrogate::test
