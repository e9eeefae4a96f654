// SPDX-License-Identifier: Apache-2.0
// A law of every family: any partition of the points over ranks gives the numbers of one rank, and
// costs what the plan's table says.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/libsurrogate/conformance/family_run.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// Threads and vector levels, of which those are left that this machine has, asked as a user would.
std::vector<OptionList> speeds() {
    std::vector<OptionList> list = {
        {{"threads", "2"}, {"vector", "auto"}},   {{"threads", "1"}, {"vector", "scalar"}},
        {{"threads", "3"}, {"vector", "scalar"}}, {{"threads", "3"}, {"vector", "avx2"}},
        {{"threads", "1"}, {"vector", "avx512"}}, {{"threads", "3"}, {"vector", "avx512"}}};
    std::erase_if(list, [](const OptionList& speed) {
        surrogate_context* context = nullptr;
        const Options options = options_of(speed);
        const surrogate_status status = surrogate_context_create(options.get(), &context);
        surrogate_context_destroy(&context);
        return status == SURROGATE_NOT_SUPPORTED;
    });
    return list;
}

const OptionList one_thread = {{"threads", "1"}};

class Partitions : public testing::TestWithParam<Tested> {
protected:
    const FamilyCase& family() const { return *GetParam().family; }
    /// Returns what one rank computes in a mode, once for all tests of a network.
    const Whole& alone(const Mode& mode, const OptionList& more = {}) const {
        static std::map<std::string, Whole> computed;
        std::string key = GetParam().name() + " " + mode.name;
        for (const auto& [name, value] : more) key += " " + name + "=" + value;
        auto found = computed.find(key);
        if (found == computed.end()) {
            const Options options = options_of(mode.options, more);
            found = computed.emplace(key, computed_alone(*file, GetParam(), options)).first;
        }
        return found->second;
    }

    /// Results of this rank's share, after both kinds of run.
    std::vector<double> results(FamilyRun& run) const {
        EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS);
        return run.results();
    }
    /// Traffic of the last run: from the table now, and from the table when the plan was made.
    void expect_traffic(const Plan& plan, const Traffic& planned) const {
        const Traffic sent = traffic_of_run(plan);
        EXPECT_EQ(sent, traffic_of_table(plan)) << plan.describe();
        if (GetParam().network->sends_by_data) {
            EXPECT_LE(sent.bytes, planned.bytes) << plan.describe();
            EXPECT_LE(sent.collectives, planned.collectives) << plan.describe();
        } else {
            EXPECT_EQ(sent, planned) << plan.describe();
        }
    }
    void expect_bits(const Whole& whole, const std::string& partition, const Options& options) {
        FamilyRun run(context, model, GetParam(), partition, options);
        EXPECT_EQ(results(run), whole.of(run.out()));
    }

    const std::shared_ptr<const std::string> file = GetParam().network->file();
    const Context context = mpi_context(world);
    const Model model{context, *file};
};

TEST_P(Partitions, PredictAsOneRankInEveryMode) {
    for (const Mode& mode : family().modes) {
        const Options options = options_of(mode.options, {{"threads", "1"}});
        const Whole& whole = alone(mode, one_thread);
        for (const std::string& partition : family().partitions) {
            SCOPED_TRACE(trace(mode.name, partition));
            FamilyRun run(context, model, GetParam(), partition, options);
            EXPECT_LE(whole.difference(results(run), run.out()), mode.tolerance);
            EXPECT_TRUE(run.is_memory_intact());
        }
    }
}

TEST_P(Partitions, PredictTheBitsOfOneRankForAnyThreadsAndVectors) {
    for (const Mode& mode : family().modes) {
        if (mode.tolerance > 0) continue;
        const Whole& whole = alone(mode, one_thread);
        // All results are compared with one result, so not every pair is needed.
        const std::vector<OptionList> all_speeds = speeds();
        const auto& partitions = family().partitions;
        for (size_t i = 0; i < std::max(all_speeds.size(), partitions.size()); ++i) {
            const OptionList& speed = all_speeds[i % all_speeds.size()];
            const std::string& partition = partitions[i % partitions.size()];
            SCOPED_TRACE(trace(mode.name, partition) + ", " + speed.back().second + ", " +
                         speed.front().second + " threads");
            expect_bits(whole, partition, options_of(mode.options, speed));
        }
    }
}

TEST_P(Partitions, PredictTheBitsOfOneRankWithTheReferenceBackend) {
    for (const Mode& mode : family().modes) {
        if (mode.tolerance > 0) continue;
        const OptionList reference = {{"threads", "1"}, {"backend", "ref"}};
        const Whole& whole = alone(mode, reference);
        for (const std::string& partition : family().partitions)
            expect_bits(whole, partition, options_of(mode.options, reference));
        EXPECT_LE(whole.difference(alone(mode).values, whole.all()), 1e-5);
    }
}

TEST_P(Partitions, AreTheSameProblemInEveryMode) {
    const Whole& first = alone(family().modes.front());
    for (const Mode& mode : family().modes) {
        const Whole& other = alone(mode);
        EXPECT_LE(first.difference(other.values, first.all()), 1e-5) << mode.name;
    }
}

TEST_P(Partitions, OfFieldsInAnyFormatAreTheSame) {
    const Format formats[] = {{"FloatPlanar", false, true},
                              {"FloatWithGaps", false, false, 3},
                              {"Double", true},
                              {"DoublePlanarWithGaps", true, true, 5}};
    for (const Mode& mode : family().modes) {
        if (mode.tolerance > 0) continue;
        const Options options = options_of(mode.options, {{"threads", "1"}});
        FamilyRun plain(context, model, GetParam(), "scattered", options);
        const std::vector<double> expected = results(plain);
        for (const Format& format : formats) {
            FamilyRun run(context, model, GetParam(), "scattered", options, format);
            std::vector<double> found = results(run);
            for (double& value : found) value = static_cast<double>(static_cast<float>(value));
            EXPECT_EQ(found, expected) << format.name;
            EXPECT_TRUE(run.is_memory_intact()) << format.name;
        }
    }
}

TEST_P(Partitions, SendWhatTheTableOfThePlanSays) {
    for (const Mode& mode : family().modes) {
        for (const std::string& partition : family().partitions) {
            SCOPED_TRACE(trace(mode.name, partition));
            FamilyRun run(context, model, GetParam(), partition,
                          options_of(mode.options, {{"threads", "1"}}));
            const Traffic planned = traffic_of_table(run.plan);
            EXPECT_GE(planned.bytes, 0) << run.plan.describe();
            EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS);
            expect_traffic(run.plan, planned);
            if (!run.has_fields()) continue;
            EXPECT_EQ(run.run(), SURROGATE_SUCCESS);
            expect_traffic(run.plan, planned);
        }
    }
}

TEST_P(Partitions, RaiseNoTrap) {
    for (const Mode& mode : family().modes) {
        for (const std::string& partition : family().partitions) {
            FamilyRun run(context, model, GetParam(), partition,
                          options_of(mode.options, {{"threads", "1"}}));
            const TrapGuard guard;
            EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS) << trace(mode.name, partition);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families, Partitions, testing::ValuesIn(tested_networks(is_any)),
                         name_of_tested);

// ---- several at once ----

class Neighbours : public Partitions {
protected:
    /// Two plans run in turns: each gives what it gives for itself.
    void expect_undisturbed(FamilyRun& a, FamilyRun& b) {
        const std::vector<double> expected_a = results(a), expected_b = results(b);
        for (int step = 0; step < 3; ++step) {
            a.forget_results();
            b.forget_results();
            EXPECT_EQ(results(b), expected_b);
            EXPECT_EQ(results(a), expected_a);
        }
    }
    Options options(size_t mode) const { return options_of(family().modes.at(mode).options); }
};

TEST_P(Neighbours, OfOneContextRunInTurns) {
    FamilyRun a(context, model, GetParam(), "scattered", options(0));
    FamilyRun b(context, model, GetParam(), "uneven", options(1));
    expect_undisturbed(a, b);
}

TEST_P(Neighbours, OfTwoContextsOnOneCommunicatorRunInTurns) {
    const Context other = mpi_context(world);
    const Model other_model(other, *file);
    FamilyRun a(context, model, GetParam(), "scattered", options(1));
    FamilyRun b(other, other_model, GetParam(), "uneven", options(0));
    expect_undisturbed(a, b);
}

TEST_P(Neighbours, OfRanksThatTakeNoPartDoNotMatter) {
    const int half = (size_of(world) + 1) / 2;
    const bool takes_part = rank_of(world) < half;
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(world, takes_part, 0, &part);
    if (takes_part) {
        const Context own = mpi_context(part);
        EXPECT_EQ(own.size(), half);
        const Model loaded(own, *file);
        for (const Mode& mode : family().modes) {
            FamilyRun run(own, loaded, GetParam(), "scattered", options_of(mode.options));
            EXPECT_LE(alone(mode).difference(results(run), run.out()), mode.tolerance);
        }
    }
    MPI_Comm_free(&part);
    EXPECT_TRUE(ranks_still_talk(world));
}

INSTANTIATE_TEST_SUITE_P(Families, Neighbours, testing::ValuesIn(tested_networks(is_small)),
                         name_of_tested);

}  // namespace
}  // namespace surrogate::test
