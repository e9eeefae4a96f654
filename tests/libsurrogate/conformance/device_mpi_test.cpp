// SPDX-License-Identifier: Apache-2.0
// Properties of every family with backend cuda, on an emulated device for each rank: the numbers of
// the host, results bitwise identical to one rank, the bytes of the table, one failed rank, two
// plans in turns. Unsupported plans are rejected with their name. Uses the small networks of each
// family.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/libsurrogate/conformance/family_run.hpp"
#include "tests/support/device_ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

const OptionList by_cuda = {{"backend", "cuda"}, {"threads", "1"}};

class DeviceLaws : public testing::TestWithParam<Tested> {
protected:
    /// Returns whether a plan can be made for this partition; an error names an alternative.
    /// Collective.
    bool takes(const std::string& partition, const Options& options) const {
        const FamilyDomains domains(context, model, GetParam(), partition);
        surrogate_plan* plan = nullptr;
        const Answer found = answer(surrogate_plan_create(model.get(), domains.input.get(),
                                                          domains.output(), options.get(), &plan));
        surrogate_plan_destroy(&plan);
        if (found.status == SURROGATE_SUCCESS) return true;
        EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
        EXPECT_TRUE(found.says("simd")) << found;
        return false;
    }
    bool takes(const std::string& partition) const { return takes(partition, device); }
    /// The family's partitions that devices take, some that differ.
    std::vector<std::string> partitions(const Options& options) const {
        const std::vector<std::string>& known = GetParam().family->partitions;
        std::vector<std::string> list;
        for (const char* name : {"contiguous", "scattered", "uneven"})
            if (std::ranges::count(known, name) > 0 && takes(name, options)) list.push_back(name);
        return list;
    }
    bool is_trained() const {
        return std::ranges::any_of(GetParam().family->modes, [](const Mode& mode) {
            return std::ranges::any_of(
                mode.options, [](const auto& option) { return option.first == "gradients"; });
        });
    }
    Whole alone(const Options& options) const {
        const Context self = device_context(emulated_kind, impl::self_communicator());
        return computed_in(self, *file, GetParam(), options);
    }
    std::vector<double> results(FamilyRun& run) const {
        EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS) << surrogate_error(context.get());
        return run.results();
    }

    const Options device = options_of(by_cuda);
    const std::shared_ptr<const std::string> file = GetParam().network->file();
    const Context context = ranks_context(false);
    const Model model{context, *file};
};

// Eight times what the host errs in single precision, as families are held to, and what single
// precision can tell of numbers of that scale: where scores are close a choice may fall otherwise.
TEST_P(DeviceLaws, NumbersAreThoseOfTheHost) {
    if (!takes("contiguous")) GTEST_SKIP() << "rejected as not supported";
    const Whole exact = computed_alone(*file, GetParam(), {{"precision", "fp64"}});
    const Whole single = computed_alone(*file, GetParam(), {});
    const double host = exact.difference(single.values, single.all());
    FamilyRun run(context, model, GetParam(), "contiguous", device);
    EXPECT_LE(exact.difference(results(run), run.out()), std::max(8 * host, 1e-5));
    EXPECT_TRUE(run.is_memory_intact());
}

TEST_P(DeviceLaws, PartitionsGiveWhatOneRankGives) {
    if (!takes("contiguous")) GTEST_SKIP() << "rejected as not supported";
    for (const Mode& mode : GetParam().family->modes) {
        if (std::ranges::count(mode.options, OptionList::value_type("precision", "fp64")) > 0)
            continue;  // devices compute in single precision
        const Options options = options_of(mode.options, by_cuda);
        const std::vector<std::string> divided = partitions(options);
        if (divided.empty()) continue;  // rejected as not supported
        const Whole whole = alone(options);
        for (const std::string& partition : divided) {
            SCOPED_TRACE(trace(mode.name, partition));
            FamilyRun run(context, model, GetParam(), partition, options);
            const Traffic planned = traffic_of_table(run.plan);
            EXPECT_LE(whole.difference(results(run), run.out()), mode.tolerance);
            EXPECT_TRUE(run.is_memory_intact());
            EXPECT_EQ(planned, traffic_of_table(run.plan));  // nothing depends on data
            const Traffic sent = traffic_of_run(run.plan);
            EXPECT_EQ(sent.collectives, planned.collectives) << run.plan.describe();
            // Plans with a backward pass count what the communicator sends, with a flag of 4 bytes
            // in each reduction.
            const int64_t flags = is_trained() && size_of(world) > 1 ? 4 * sent.collectives : 0;
            EXPECT_EQ(sent.bytes, planned.bytes + flags) << run.plan.describe();
        }
    }
}

TEST_P(DeviceLaws, InfinityOnOneRankIsNotFiniteAndLeavesNoTrace) {
    if (!takes("contiguous")) GTEST_SKIP() << "rejected as not supported";
    FamilyRun run(context, model, GetParam(), "contiguous", device);
    const std::vector<double> expected = results(run);
    size_t port = 0;
    while (port < run.ports.size() && run.ports[port].is_output) ++port;
    if (port == run.ports.size()) GTEST_SKIP() << "all inputs are coordinates";
    const bool is_culprit = rank_of(world) == 0 && !run.domains.in.points.empty();
    if (is_culprit) run.port_arrays[port].set(0, run.ports[port].n_channel - 1, INFINITY);
    const surrogate_status status = run.run_network();
    if (is_culprit) {
        EXPECT_EQ(status, SURROGATE_NOT_FINITE);
        EXPECT_TRUE(all_nan(run.network_results()));
    } else if (status != SURROGATE_SUCCESS) {  // what depends on it on other ranks
        EXPECT_EQ(status, SURROGATE_NOT_FINITE) << surrogate_error(context.get());
        EXPECT_TRUE(all_nan(run.network_results()));
    }
    run.fill();
    EXPECT_EQ(results(run), expected);
}

TEST_P(DeviceLaws, TwoPlansRunInTurns) {
    const std::vector<std::string> divided = partitions(device);
    if (divided.empty()) GTEST_SKIP() << "rejected as not supported";
    FamilyRun a(context, model, GetParam(), divided.front(), device);
    FamilyRun b(context, model, GetParam(), divided.back(), device);
    const std::vector<double> expected_a = results(a), expected_b = results(b);
    a.forget_results();
    b.forget_results();
    EXPECT_EQ(results(b), expected_b);
    EXPECT_EQ(results(a), expected_a);
}

INSTANTIATE_TEST_SUITE_P(Families, DeviceLaws, testing::ValuesIn(tested_networks(is_small)),
                         name_of_tested);

}  // namespace
}  // namespace surrogate::test
