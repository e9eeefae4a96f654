// SPDX-License-Identifier: Apache-2.0
// A property of every family: its runs are called from a host's time loop. They do not allocate,
// raise no trap, use the threads they were given, and leave the host state unchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/libsurrogate/conformance/family_run.hpp"
#include "tests/support/guest.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// Threads and backends, for every mode of a family.
/// One size of team besides one thread: OpenMP's threads that a smaller team sends away end
/// whenever they like, and the host's threads are counted.
const OptionList speeds[] = {{{"threads", "1"}},
                             {{"threads", "2"}},
                             {{"threads", "1"}, {"backend", "ref"}},
                             {{"threads", "2"}, {"backend", "ref"}}};

std::string text_of(const OptionList& options) {
    std::string text;
    for (const auto& [key, value] : options) text += key + "=" + value + " ";
    return text;
}

class Manners : public testing::TestWithParam<Tested> {
protected:
    /// Calls `body` with a run in every mode and speed.
    template <class Body>
    void for_each_way(const Body& body) {
        for (const Mode& mode : GetParam().family->modes) {
            for (const OptionList& speed : speeds) {
                SCOPED_TRACE(mode.name + " " + text_of(speed));
                OptionList options = speed;
                options.insert(options.end(), mode.options.begin(), mode.options.end());
                FamilyRun run(context, model, GetParam(), "uneven", options_of(options));
                body(run);
            }
        }
    }

    const std::shared_ptr<const std::string> file = GetParam().network->file();
    const Context context = mpi_context(world);
    const Model model{context, *file};
};

TEST_P(Manners, RunTakesNoMemory) {
    for_each_way([](FamilyRun& run) {
        const auto in = run.arrays(false), out = run.arrays(true);
        const auto run_both = [&] {
            const surrogate_status network =
                surrogate_plan_run_network(run.plan.get(), static_cast<int32_t>(in.size()),
                                           in.data(), static_cast<int32_t>(out.size()), out.data());
            return run.has_fields() && network == SURROGATE_SUCCESS ? run.run() : network;
        };
        EXPECT_EQ(run_both(), SURROGATE_SUCCESS);
        const MemoryMeter meter;
        const surrogate_status status = run_both();
        const int64_t n_allocation = meter.n_allocation();
        EXPECT_EQ(status, SURROGATE_SUCCESS);
        EXPECT_EQ(n_allocation, 0);
    });
}

// Options, names and columns come on top: a few kilobytes, and a tenth for tables that only their
// layer knows. Weights are the model's: the first plan has them made.
TEST_P(Manners, WorkspaceIsWhatAPlanKeeps) {
    const FamilyDomains domains(context, model, GetParam(), "contiguous");
    for (const Mode& mode : GetParam().family->modes) {
        const Options options = options_of(mode.options, {{"threads", "1"}});
        const Plan first = domains.plan(model, options);
        const MemoryMeter meter;
        const Plan plan = domains.plan(model, options);
        const int64_t kept = meter.live_bytes(), workspace = plan.counter("workspace_bytes");
        EXPECT_LE(workspace, kept) << mode.name;
        EXPECT_LE(kept, workspace + workspace / 10 + 8192) << mode.name;
    }
}

TEST_P(Manners, WholeLifeRaisesNoTrap) {
    for (const Mode& mode : GetParam().family->modes) {
        for (const std::string& partition : GetParam().family->partitions) {
            SCOPED_TRACE(trace(mode.name, partition));
            const Options options = options_of(mode.options, {{"threads", "1"}});
            const TrapGuard guard;
            const Context own;
            const Model loaded(own, *file);
            FamilyRun life(own, loaded, GetParam(), partition, options);
            EXPECT_EQ(life.run_all(), SURROGATE_SUCCESS);
            EXPECT_FALSE(life.plan.describe().empty());
            EXPECT_TRUE(all_finite(life.results()));
        }
    }
}

TEST_P(Manners, TwoRunsGiveTheSameBits) {
    for_each_way([](FamilyRun& run) {
        EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS);
        const std::vector<double> first = run.results();
        run.forget_results();
        EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS);
        EXPECT_EQ(run.results(), first);
    });
}

TEST_P(Manners, RefusedValuesRaiseNoTrapAndLeaveNoTrace) {
    for_each_way([](FamilyRun& run) {
        EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS);
        const std::vector<double> good = run.results();
        const double infinity = std::numeric_limits<double>::infinity();
        for (const double bad : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity}) {
            for (size_t p = 0; p < run.ports.size() && run.has_points(); ++p)
                if (!run.ports[p].is_output) run.port_arrays[p].set(0, 0, bad);
            {
                const TrapGuard guard;
                EXPECT_EQ(run.run_network(), SURROGATE_NOT_FINITE) << bad;
            }
            EXPECT_TRUE(all_nan(run.network_results()));
            run.fill();
            EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS);
            EXPECT_EQ(run.results(), good);
        }
    });
}

TEST_P(Manners, TinyValuesCountAsZero) {
    FamilyRun run(context, model, GetParam(), "contiguous", {{"threads", "1"}});
    const float least = std::numeric_limits<float>::denorm_min();
    std::vector<double> zero;
    for (const float tiny : {0.f, -0.f, least, -least}) {
        for (size_t p = 0; p < run.ports.size(); ++p)
            if (!run.ports[p].is_output) run.port_arrays[p].set_all(static_cast<double>(tiny));
        const TrapGuard guard;
        EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS);
        const std::vector<double> found = run.network_results();
        if (zero.empty()) zero = found;
        for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], zero[i], 1e-6) << tiny;
    }
}

TEST_P(Manners, HostIsLeftAsItWas) {
    for_each_way([&](FamilyRun& run) {
        EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS);  // threads and connections exist now
        expect_good_guest("run", [&] { EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS); });
        if (run.has_points()) run.port_arrays[0].set(0, 0, NAN);
        expect_good_guest("rejected run", [&] { run.run_network(); });
    });
    const auto live = [&] {
        const Context own({{"threads", "1"}});
        const Model loaded(own, *file);
        FamilyRun life(own, loaded, GetParam(), "contiguous", {});
        EXPECT_EQ(life.run_all(), SURROGATE_SUCCESS);
    };
    live();
    expect_good_guest("whole life", live);
}

TEST_P(Manners, HostMayRoundUpwardsOrTrap) {
    FamilyRun run(context, model, GetParam(), "contiguous", {{"threads", "2"}});
    EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS);
    run.forget_results();
    {
        const TrapGuard guard;
        std::fesetround(FE_UPWARD);
        expect_good_guest("run", [&] { EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS); });
        EXPECT_EQ(std::fegetround(), FE_UPWARD);
        std::fesetround(FE_TONEAREST);
    }
    EXPECT_TRUE(all_finite(run.results()));
}

/// One object of each kind, for the caller to destroy.
struct Objects {
    Objects(const std::string& file, const FamilyDomains& domains, bool has_output) {
        const Options options{{"threads", "1"}};
        check(surrogate_context_create(options.get(), &context));
        check(surrogate_model_load(context, file.c_str(), &model));
        check(domains.in.create(context, &input));
        if (has_output) check(domains.out.create(context, &output));
        check(surrogate_plan_create(model, input, output, nullptr, &plan));
    }

    surrogate_context* context = nullptr;
    surrogate_model* model = nullptr;
    surrogate_domain *input = nullptr, *output = nullptr;
    surrogate_plan* plan = nullptr;
};

TEST_P(Manners, ObjectsMayBeDestroyedInAnyOrder) {
    const Context self;
    const Model loaded(self, *file);
    FamilyRun known(self, loaded, GetParam(), "contiguous", {{"threads", "1"}});
    EXPECT_EQ(known.run_network(), SURROGATE_SUCCESS);
    const std::vector<double> expected = known.network_results();
    const auto in = known.arrays(false), out = known.arrays(true);
    std::vector<int> order = {0, 1, 2, 3, 4};
    do {
        Objects objects(*file, known.domains, GetParam().family->has_output_domain);
        for (const int object : order) {
            if (object == 0) surrogate_context_destroy(&objects.context);
            if (object == 1) surrogate_model_destroy(&objects.model);
            if (object == 2) surrogate_domain_destroy(&objects.input);
            if (object == 3) surrogate_domain_destroy(&objects.output);
            if (object == 4) surrogate_plan_destroy(&objects.plan);
            if (!objects.plan) continue;
            known.forget_results();
            EXPECT_EQ(
                surrogate_plan_run_network(objects.plan, static_cast<int32_t>(in.size()), in.data(),
                                           static_cast<int32_t>(out.size()), out.data()),
                SURROGATE_SUCCESS);
            EXPECT_EQ(known.network_results(), expected);
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

INSTANTIATE_TEST_SUITE_P(Families, Manners, testing::ValuesIn(tested_networks(is_small)),
                         name_of_tested);

// A thread that has not used OpenMP yet has no threads of its own to wake up: those that are there
// after a run are those that the run was given.
class Threads : public Manners {};

TEST_P(Threads, OfARunAreThoseItWasGiven) {
    for (const int n_thread : {1, 3}) {
        const Context self;
        const Model loaded(self, *file);
        FamilyRun run(self, loaded, GetParam(), "contiguous",
                      {{"threads", std::to_string(n_thread)}});
        int before = 0, after = 0;
        std::thread host([&] {
            before = count_entries("/proc/self/task");
            EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS);
            after = count_entries("/proc/self/task");
        });
        host.join();
        EXPECT_EQ(run.plan.option("threads"), std::to_string(n_thread));
        EXPECT_EQ(after - before, n_thread - 1);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, Threads, testing::ValuesIn(tested_networks(is_divided)),
                         name_of_tested);

}  // namespace
}  // namespace surrogate::test
