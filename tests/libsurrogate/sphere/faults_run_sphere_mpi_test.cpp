// SPDX-License-Identifier: Apache-2.0
// One rank calls a run on the sphere with something wrong: it gets its own error, the others finish
// with NaN and NOT_FINITE, nobody waits, and the next correct run gives the same bits as before.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/support/ranks.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

struct Fault {
    const char* name;
    surrogate_status status;              // of the culprit
    surrogate_status (*run)(SphereRun&);  // with the fault in
    bool is_bare;                         // a run of the bare network
    bool needs_points = false;
};

surrogate_status run_bare(SphereRun& run, const std::vector<surrogate_named_array>& in,
                          const std::vector<surrogate_named_array>& out) {
    return surrogate_plan_run_network(run.plan.get(), static_cast<int32_t>(in.size()), in.data(),
                                      static_cast<int32_t>(out.size()), out.data());
}

surrogate_status without_fields(SphereRun& run) {
    surrogate_plan_unbind(run.plan.get());
    return run.run();
}

/// With a value in the middle of the block.
surrogate_status with_value(SphereRun& run, float value, surrogate_status (SphereRun::*call)()) {
    const int64_t place = run.in_block.place(run.in_block.n_lat() / 2, run.in_block.n_lon() / 2);
    float& at = run.fields.front().values()[static_cast<size_t>(3 * place)];
    const float good = std::exchange(at, value);
    const surrogate_status status = (run.*call)();
    at = good;
    return status;
}

surrogate_status with_nan(SphereRun& run) {
    return with_value(run, NAN, &SphereRun::run);
}
surrogate_status with_infinity(SphereRun& run) {
    return with_value(run, -INFINITY, &SphereRun::run_network);
}

surrogate_status with_null_data(SphereRun& run) {
    auto in = run.arrays(false);
    in[0].array.data = nullptr;
    return run_bare(run, in, run.arrays(true));
}
surrogate_status with_wrong_shape(SphereRun& run) {
    auto out = run.arrays(true);
    out[0].array.shape[1] += 1;
    return run_bare(run, run.arrays(false), out);
}
surrogate_status with_missing_port(SphereRun& run) {
    return run_bare(run, run.arrays(false), run.arrays(false));
}
surrogate_status with_null_list(SphereRun& run) {
    const auto out = run.arrays(true);
    return surrogate_plan_run_network(run.plan.get(), 1, nullptr, 1, out.data());
}

const Fault faults[] = {
    {"UnboundFields", SURROGATE_INVALID_ARGUMENT, without_fields, false},
    {"NanInAPoint", SURROGATE_NOT_FINITE, with_nan, false, true},
    {"InfinityInAPointOfTheNetwork", SURROGATE_NOT_FINITE, with_infinity, true, true},
    {"NullData", SURROGATE_INVALID_ARGUMENT, with_null_data, true, true},
    {"WrongShape", SURROGATE_SHAPE, with_wrong_shape, true},
    {"MissingPort", SURROGATE_UNKNOWN_NAME, with_missing_port, true},
    {"NullList", SURROGATE_INVALID_ARGUMENT, with_null_list, true},
};

struct Case {
    std::string name;
    json network;
    std::string partition, reproducible = "false", agree = "false";
};

std::ostream& operator<<(std::ostream& stream, const Case& c) {
    return stream << c.name;
}

class FaultsRunSphere : public testing::TestWithParam<Case> {
protected:
    void SetUp() override {
        run.fill({wave(run.in_block.n_model_point() * 3, 0.6)});
        run.bind();
    }
    std::vector<double> good_run() {
        EXPECT_EQ(run.run(), SURROGATE_SUCCESS);
        std::vector<double> results = run.result().points();
        EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS);
        const std::vector<double> bare = run.result().points();
        results.insert(results.end(), bare.begin(), bare.end());
        return results;
    }
    void expect_to_poison_one_run(const Fault& fault, int culprit) {
        const bool is_culprit = context.rank() == culprit;
        const Answer found = answer(is_culprit      ? fault.run(run)
                                    : fault.is_bare ? run.run_network()
                                                    : run.run());
        if (GetParam().agree == "true") {
            EXPECT_EQ(found.status, fault.status) << found;
            EXPECT_EQ(found.text.find("rank " + std::to_string(culprit) + ": "), 0u) << found;
        } else {
            EXPECT_EQ(found.status, is_culprit ? fault.status : SURROGATE_NOT_FINITE) << found;
        }
        if (!is_culprit) {
            for (const double y : run.result().points()) EXPECT_TRUE(std::isnan(y));
        }
        run.bind();
        EXPECT_EQ(good_run(), expected);
    }

    Context context = mpi_context(MPI_COMM_WORLD);
    const ModelOnDisk file{GetParam().network, 3, 3};
    Model model{context, file.path()};
    SphereRun run{context,
                  model,
                  {.name = "", .partition = GetParam().partition, .ghosts = 1},
                  {{"reproducible", GetParam().reproducible}, {"agree", GetParam().agree}}};
    std::vector<double> expected;
};

TEST_P(FaultsRunSphere, OfOneRankPoisonThisRunOnly) {
    expected = good_run();
    for (const Fault& fault : faults) {
        for (int culprit = 0; culprit < context.size(); ++culprit) {
            SCOPED_TRACE(std::string(fault.name) + " on rank " + std::to_string(culprit));
            int has_points = run.in_block.n_point() > 0;
            MPI_Bcast(&has_points, 1, MPI_INT, culprit, MPI_COMM_WORLD);
            if (has_points || !fault.needs_points) expect_to_poison_one_run(fault, culprit);
        }
    }
}

// "uneven" leaves rank 0 without points.
INSTANTIATE_TEST_SUITE_P(
    Cases, FaultsRunSphere,
    testing::Values(Case{"TransformerBlocks", small_transformer(), "scattered"},
                    Case{"TransformerUnevenReproducible", small_transformer(), "uneven", "true"},
                    Case{"TransformerGlobalUneven",
                         changed(small_transformer(), {{"attention_mode", "global"}}), "uneven"},
                    Case{"Segformer", changed(small_segformer(), {{"out_chans", 3}}), "contiguous"},
                    Case{"TransformerAgreed", small_transformer(), "uneven", "false", "true"},
                    Case{"Convolution", changed(small_convolution(), {{"out_channels", 3}}),
                         "uneven"}),
    [](const auto& c) { return c.param.name; });

// Numbers that overflow on one rank only: no rank waits, and all that are reached hear of it.
TEST(FaultsRunSphereHuge, NumbersOfOneRankHangNobody) {
    const Context context = mpi_context(MPI_COMM_WORLD);
    const ModelOnDisk file(small_transformer());
    const Model model(context, file.path());
    for (int culprit = 0; culprit < context.size(); ++culprit) {
        SphereRun run(context, model, {.name = ""});
        std::vector<float> x = wave(run.in_block.n_model_point() * 3, 0.6);
        run.fill({x});
        if (context.rank() == culprit) {
            for (float& value : x) value *= 1e37f;
            run.fill({x});
        }
        const surrogate_status status = run.run_network();
        bool is_finite = true;
        for (const double y : run.result().points()) is_finite = is_finite && std::isfinite(y);
        EXPECT_EQ(status, is_finite ? SURROGATE_SUCCESS : SURROGATE_NOT_FINITE);
        EXPECT_TRUE(ranks_still_talk(MPI_COMM_WORLD));
        run.fill({wave(run.in_block.n_model_point() * 3, 0.6)});
        EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS);
    }
}

}  // namespace
}  // namespace surrogate::test
