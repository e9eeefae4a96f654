// SPDX-License-Identifier: Apache-2.0
// Memory of plans on large grids: no list of neighbors per point, no array of pairs.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

constexpr int64_t megabyte = 1'000'000;

/// Peak of one rank while a plan is made on 721 x 1440 points.
void expect_planning_within(int64_t n_byte, const json& network, const Options& options) {
    const Context context = mpi_context(MPI_COMM_WORLD);
    const ModelOnDisk file(network);
    const Model model(context, file.path());
    const SphereBlock block(model.input_domain(), {.name = ""}, context.rank(), context.size());
    const Domain domain(context, block.sphere());
    const auto start = std::chrono::steady_clock::now();
    const MemoryMeter meter;
    const Plan plan(model, domain, options);
    const int64_t peak = meter.peak_bytes();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_LE(peak, n_byte) << plan.describe();
    if (context.rank() == 0) {
        std::printf("planning takes %.1f MB at most, %.1f MB stay, %.2f s\n",
                    static_cast<double>(peak) / megabyte,
                    static_cast<double>(plan.counter("workspace_bytes")) / megabyte,
                    seconds.count());
    }
}

TEST(SphereMemory, OfNeighborhoodAttentionIsBelowAHundredMegabytes) {
    // Two channels: fields of half the sphere take 2 MB a channel, tables what they take.
    expect_planning_within(100 * megabyte,
                           changed(small_attention(), {{"in_channels", 2},
                                                       {"in_shape", {721, 1440}},
                                                       {"out_shape", {721, 1440}},
                                                       {"theta_cutoff", 0.0172}}),
                           {{"threads", "1"}});
}

TEST(SphereMemory, OfGlobalAttentionHoldsNoPairs) {
    // 1.04 million keys: 8 MB of keys and values a channel on every rank.
    expect_planning_within(
        150 * megabyte,
        changed(small_attention(true),
                {{"in_channels", 2}, {"in_shape", {721, 1440}}, {"out_shape", {721, 1440}}}),
        {{"threads", "1"}});
}

TEST(SphereMemory, OfAConvolutionIsThatOfItsTable) {
    expect_planning_within(150 * megabyte,
                           changed(small_convolution(), {{"in_channels", 1},
                                                         {"out_channels", 1},
                                                         {"in_shape", {721, 1440}},
                                                         {"out_shape", {721, 1440}},
                                                         {"theta_cutoff", 0.0131}}),
                           {{"threads", "1"}});
}

}  // namespace
}  // namespace surrogate::test
