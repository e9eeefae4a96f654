// SPDX-License-Identifier: Apache-2.0
// A property of every family: one rank calls a run with an invalid argument or value. It returns
// its own error, the others finish with NaN and NOT_FINITE, no rank waits, and the next correct run
// is bitwise identical to the run before. With agree=true all return the error of the failed rank.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/libsurrogate/conformance/family_run.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

surrogate_status without_inputs(FamilyRun& run) {
    surrogate_plan_unbind(run.plan.get());
    for (size_t f = 0; f < run.outputs.size(); ++f)
        run.plan.bind_output(run.outputs[f], run.output_fields.channel(static_cast<int64_t>(f)));
    return run.run();
}

surrogate_status without_outputs(FamilyRun& run) {
    surrogate_plan_unbind(run.plan.get());
    for (size_t f = 0; f < run.inputs.size(); ++f)
        run.plan.bind_input(run.inputs[f], run.input_fields.channel(static_cast<int64_t>(f)));
    return run.run();
}

/// In the last field of a point in the middle.
size_t bad_point(const FamilyRun& run) {
    return run.domains.in.points.size() / 2;
}
surrogate_status with_value(FamilyRun& run, double value) {
    run.input_fields.set(bad_point(run), run.input_fields.n_channel() - 1, value);
    const surrogate_status status = run.run();
    run.fill();
    return status;
}
surrogate_status with_nan(FamilyRun& run) {
    return with_value(run, NAN);
}
surrogate_status with_infinity(FamilyRun& run) {
    return with_value(run, INFINITY);
}

surrogate_status in_name_only(FamilyRun& run) {
    return surrogate_plan_run_with_error(run.plan.get(), SURROGATE_IO,
                                         "the mesh could not be read");
}

size_t first_input(const FamilyRun& run) {
    size_t port = 0;
    while (run.ports[port].is_output) ++port;
    return port;
}
surrogate_status with_infinity_in_network(FamilyRun& run) {
    PointArray& array = run.port_arrays[first_input(run)];
    array.set(0, array.n_channel() - 1, -INFINITY);
    const surrogate_status status = run.run_network();
    run.fill();
    return status;
}

surrogate_status run_arrays(FamilyRun& run, const std::vector<surrogate_named_array>& in,
                            const std::vector<surrogate_named_array>& out) {
    return surrogate_plan_run_network(run.plan.get(), static_cast<int32_t>(in.size()), in.data(),
                                      static_cast<int32_t>(out.size()), out.data());
}
surrogate_status with_null_data(FamilyRun& run) {
    auto in = run.arrays(false);
    in[0].array.data = nullptr;
    return run_arrays(run, in, run.arrays(true));
}
surrogate_status with_wrong_shape(FamilyRun& run) {
    auto out = run.arrays(true);
    out[0].array.shape[1] += 1;
    return run_arrays(run, run.arrays(false), out);
}
surrogate_status with_missing_port(FamilyRun& run) {
    return run_arrays(run, run.arrays(false), run.arrays(false));
}
surrogate_status with_null_list(FamilyRun& run) {
    const auto out = run.arrays(true);
    return surrogate_plan_run_network(run.plan.get(), 1, nullptr, 1, out.data());
}

struct Fault {
    const char* name;
    surrogate_status status;               // of the culprit
    surrogate_status (*call)(FamilyRun&);  // with the fault in
    bool is_network;                       // a run of the bare network, not of fields
    bool is_in_a_value = false;            // of a point: all outputs become NaN on all ranks
    bool needs_points = is_in_a_value;
};

const Fault faults[] = {
    {"UnboundInputs", SURROGATE_INVALID_ARGUMENT, without_inputs, false},
    {"UnboundOutputs", SURROGATE_INVALID_ARGUMENT, without_outputs, false},
    {"NanInAPoint", SURROGATE_NOT_FINITE, with_nan, false, true},
    {"InfinityInAPoint", SURROGATE_NOT_FINITE, with_infinity, false, true},
    {"AdapterThatCannotRun", SURROGATE_IO, in_name_only, false},
    {"InfinityInAPointOfTheNetwork", SURROGATE_NOT_FINITE, with_infinity_in_network, true, true},
    {"NullData", SURROGATE_INVALID_ARGUMENT, with_null_data, true, false, true},
    {"WrongShape", SURROGATE_SHAPE, with_wrong_shape, true},
    {"MissingPort", SURROGATE_UNKNOWN_NAME, with_missing_port, true},
    {"NullList", SURROGATE_INVALID_ARGUMENT, with_null_list, true},
};

class Faults : public testing::TestWithParam<Tested> {
protected:
    /// Every fault on every rank in turn.
    void expect_each_to_poison_one_run(FamilyRun& run, bool agrees) {
        EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS);
        const std::vector<double> expected = run.results();
        for (const Fault& fault : faults) {
            if (!fault.is_network && !run.has_fields()) continue;
            for (int culprit = 0; culprit < context.size(); ++culprit) {
                SCOPED_TRACE(std::string(fault.name) + " on rank " + std::to_string(culprit));
                int has_points = run.has_points();
                MPI_Bcast(&has_points, 1, MPI_INT, culprit, world);
                if (fault.needs_points && !has_points) continue;
                expect_answer(run, fault, culprit, agrees);
                run.bind();
                EXPECT_EQ(run.run_all(), SURROGATE_SUCCESS);
                EXPECT_EQ(run.results(), expected);
            }
        }
    }

    void expect_answer(FamilyRun& run, const Fault& fault, int culprit, bool agrees) {
        const bool is_culprit = context.rank() == culprit;
        const Answer found = answer(is_culprit         ? fault.call(run)
                                    : fault.is_network ? run.run_network()
                                                       : run.run());
        if (agrees) {
            EXPECT_EQ(found.status, fault.status) << found;
            EXPECT_TRUE(context.size() == 1 ||
                        found.text.starts_with("rank " + std::to_string(culprit) + ": "))
                << found;
            EXPECT_FALSE(found.says("from another rank")) << found;
            EXPECT_EQ(answer_of_rank_0(found, world), found);
        } else {
            EXPECT_EQ(found.status, is_culprit ? fault.status : SURROGATE_NOT_FINITE) << found;
        }
        if (is_culprit && fault.is_in_a_value) expect_named(run, fault, found);
        if (!is_culprit || fault.is_in_a_value) {
            EXPECT_TRUE(all_nan(fault.is_network ? run.network_results() : run.field_results()));
        }
    }

    /// The field or port, and the point.
    static void expect_named(const FamilyRun& run, const Fault& fault, const Answer& found) {
        const std::string name = fault.is_network ? std::string("network input '") +
                                                        run.ports[first_input(run)].name + "'"
                                                  : "input '" + run.inputs.back() + "'";
        EXPECT_TRUE(found.says(name)) << found;
        if (!fault.is_network) {
            EXPECT_TRUE(found.says(run.domains.in.name_of(bad_point(run)))) << found;
        }
    }

    const std::shared_ptr<const std::string> file = GetParam().network->file();
    const Context context = mpi_context(world);
    const Model model{context, *file};
};

TEST_P(Faults, OfOneRankPoisonThisRunOnly) {
    for (const Mode& mode : GetParam().family->modes) {
        for (const char* partition : {"scattered", "uneven"}) {
            for (const char* agree : {"false", "true"}) {
                SCOPED_TRACE(trace(mode.name, partition) + ", agree=" + agree);
                FamilyRun run(context, model, GetParam(), partition,
                              options_of(mode.options, {{"agree", agree}, {"threads", "2"}}));
                expect_each_to_poison_one_run(run, std::string(agree) == "true");
            }
        }
    }
}

TEST_P(Faults, AreAgreedUponOutsideTheTrafficOfTheTable) {
    for (const char* agree : {"false", "true"}) {
        FamilyRun run(context, model, GetParam(), "scattered", {{"agree", agree}});
        EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS);
        EXPECT_EQ(traffic_of_run(run.plan), traffic_of_table(run.plan)) << "agree=" << agree;
    }
}

TEST_P(Faults, GiveNanToTheOthersIfNobodyChecks) {
    FamilyRun run(context, model, GetParam(), "contiguous", {{"check_finite", "false"}});
    const bool is_culprit = context.rank() == 0;
    const surrogate_status status = is_culprit ? with_missing_port(run) : run.run_network();
    EXPECT_EQ(status, is_culprit ? SURROGATE_UNKNOWN_NAME : SURROGATE_SUCCESS);
    if (!is_culprit) {
        EXPECT_TRUE(all_nan(run.network_results()));
    }
}

TEST_P(Faults, OfAValueGiveNanToAllIfNobodyChecks) {
    for (const Mode& mode : GetParam().family->modes) {
        FamilyRun run(context, model, GetParam(), "scattered",
                      options_of(mode.options, {{"check_finite", "false"}}));
        if (context.rank() == 0) {
            run.port_arrays[first_input(run)].set(0, 0, NAN);
        }
        EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS) << mode.name;
        EXPECT_TRUE(all_nan(run.network_results())) << mode.name;
    }
}

// Squares of such numbers do not fit single precision: no rank waits, and the result is finite or
// NOT_FINITE on all ranks that get such values, never a plausible wrong number.
TEST_P(Faults, OfHugeNumbersAreFiniteOrRefused) {
    for (int culprit = 0; culprit < context.size(); ++culprit) {
        for (const double factor : {1e30, 1e37}) {
            FamilyRun run(context, model, GetParam(), "contiguous", {{"threads", "1"}});
            PointArray& array = run.port_arrays[first_input(run)];
            for (size_t i = 0; context.rank() == culprit && i < array.n_point(); ++i)
                for (int64_t c = 0; c < array.n_channel(); ++c)
                    array.set(i, c, factor * array.get(i, c));
            const surrogate_status status = run.run_network();
            const bool is_finite = all_finite(run.network_results());
            EXPECT_EQ(status, is_finite ? SURROGATE_SUCCESS : SURROGATE_NOT_FINITE)
                << factor << " on rank " << culprit;
            EXPECT_TRUE(ranks_still_talk(world));
            run.fill();
            EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families, Faults, testing::ValuesIn(tested_networks(is_small)),
                         name_of_tested);

}  // namespace
}  // namespace surrogate::test
