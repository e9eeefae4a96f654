// SPDX-License-Identifier: Apache-2.0
// Checks errors and their texts: a mistake of one rank is an error of all, and no rank waits.
#include "tests/coupling/timeloop/loop_case.hpp"

namespace surrogate::test {
namespace {

constexpr surrogate_status invalid = SURROGATE_INVALID_ARGUMENT;

/// Checked in one line each: the call, its status, and a part of the text.
void expect(surrogate_status returned, surrogate_status status, const char* part) {
    const Answer found = answer(returned);
    EXPECT_EQ(found.status, status) << found;
    EXPECT_TRUE(found.says(part)) << found << "\nexpected: " << part;
}

TEST(TimeLoopRefusals, OfOptions) {
    HeightLoop c;
    surrogate_timeloop* const loop = c.loop.get();
    const auto set = [&](const char* key, const char* value) {
        return surrogate_timeloop_set(loop, key, value);
    };
    expect(set("rnage", "warn"), SURROGATE_UNKNOWN_NAME, "range, range_max_fraction");
    expect(set("range", "wran"), invalid, "off, warn, correct, fallback or stop");
    expect(set("finite", "off"), invalid, "expected warn, fallback or stop");
    expect(set("finite", "correct"), invalid, "expected warn");
    expect(set("distance", "correct"), invalid, "off, warn, fallback or stop");
    expect(set("range", ""), invalid, "range");
    for (const char* value : {"-0.1", "1.1", "nan", "inf", "0x1", "", "0.5 ", "1,5"})
        expect(set("range_max_fraction", value), invalid, "a fraction from 0 to 1");
    for (const char* value : {"0", "-1", "nan"})
        expect(set("distance_factor", value), invalid, "above 0");
    for (const char* value : {"-1", "1.5", "1e10", "two"})
        expect(set("retry_after", value), invalid, "whole number");
    for (const char* value : {"-1", "inf", "1s"}) expect(set("step_s", value), invalid, "seconds");
    expect(set(nullptr, "warn"), invalid, "'key' is NULL");
    expect(set("range", nullptr), invalid, "'value' is NULL");
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);  // nothing of it was taken
}

TEST(TimeLoopRefusals, OfArrays) {
    HeightLoop c;
    surrogate_timeloop* const loop = c.loop.get();
    const int64_t n = c.own.n();
    std::vector<double> values(static_cast<size_t>(n + 1));
    const surrogate_array good = column(values.data(), n);
    const auto bind = [&](const char* name, const char* unit, const surrogate_array* array) {
        return surrogate_timeloop_bind(loop, name, unit, array);
    };
    expect(bind("heigth", "m", &good), SURROGATE_UNKNOWN_NAME, "inputs: height; outputs: height");
    expect(bind("x", "", &good), SURROGATE_UNKNOWN_NAME, "no field 'x'");
    expect(bind("height", "km", &good), invalid, "is in 'm' in the model's card");
    expect(bind(nullptr, "m", &good), invalid, "'name' is NULL");
    expect(bind("height", "m", nullptr), invalid, "'array' is NULL");
    surrogate_array bad = column(values.data(), n + 1);
    expect(bind("height", "m", &bad), SURROGATE_SHAPE, "expected ");
    bad = good;
    bad.dtype = SURROGATE_INT32;
    expect(bind("height", "m", &bad), invalid, "dtype");
    bad = good;
    bad.space = SURROGATE_CUDA;
    expect(bind("height", "m", &bad), SURROGATE_NOT_SUPPORTED, "host");
    bad = good;
    bad.data = nullptr;
    expect(bind("height", "m", &bad), invalid, "data is NULL");
    for (const int64_t stride : {INT64_MIN, INT64_MAX, int64_t{1} << 60, int64_t{0}}) {
        bad = good;
        bad.stride[0] = stride;
        const char* const part = stride == 0 ? "share memory" : "address space";
        expect(bind("height", "m", &bad), SURROGATE_SHAPE, part);
        expect(surrogate_timeloop_bind_state(loop, "extra", "m", &bad), SURROGATE_SHAPE, part);
    }
    bad = good;
    bad.shape[1] = INT64_MAX;
    expect(surrogate_timeloop_bind_state(loop, "extra", "m", &bad), SURROGATE_LIMIT, "components");
    EXPECT_EQ(c.loop.step(1), StepOutcome::accepted);  // what was bound before still is
}

TEST(TimeLoopRefusals, OfBlocks) {
    HeightLoop c;
    const int64_t n = c.own.n();
    std::vector<double> values(static_cast<size_t>(n));
    surrogate_block good{};
    good.data = values.data();
    good.shape[0] = n;
    good.stride[0] = good.n_dim = 1;
    good.dtype = SURROGATE_FLOAT64;
    const auto bind = [&](const surrogate_block& block) {
        return surrogate_timeloop_bind_block(c.loop.get(), "height", "m", &block);
    };
    surrogate_block bad = good;
    for (const int32_t n_dim : {0, 5, -1}) {
        bad.n_dim = n_dim;
        expect(bind(bad), SURROGATE_SHAPE, "expected 1 to 4");
    }
    bad = good;
    bad.n_dim = 2;
    for (const int64_t extent : {int64_t{2}, int64_t{-1}, int64_t{1} << 62}) {
        bad.shape[1] = extent;
        expect(bind(bad), SURROGATE_SHAPE, "the domain has");
    }
    expect(surrogate_timeloop_bind_block(c.loop.get(), "height", "m", nullptr), invalid, "NULL");
}

TEST(TimeLoopRefusals, OfStateAndFeed) {
    HeightLoop c;
    surrogate_timeloop* const loop = c.loop.get();
    const surrogate_array array = column(c.own.height.data(), c.own.n());
    expect(surrogate_timeloop_bind_state(loop, "height", "m", &array), invalid, "is a field");
    expect(surrogate_timeloop_bind_state(loop, nullptr, "m", &array), invalid, "NULL");
    const surrogate_array longer = column(c.own.height.data(), c.own.n() + 1);
    expect(surrogate_timeloop_bind_state(loop, "extra", "m", &longer), SURROGATE_SHAPE, "'extra'");
    expect(surrogate_timeloop_connect(loop, "pressure", "height"), SURROGATE_UNKNOWN_NAME,
           "no output 'pressure'");
    expect(surrogate_timeloop_connect(loop, "height", "x"), SURROGATE_UNKNOWN_NAME, "no input 'x'");
    expect(surrogate_timeloop_connect(loop, "height", "height"), invalid,
           "is fed by output 'height'");
    nlohmann::json km = input_entry("height_now", 10, 2, 4, 16);
    km["unit"] = "km";
    const Model model = model_of(c.context, "tiny.safetensors", {coordinate_entry(), km},
                                 {field_entry("height_next", 10, 2)});
    Plan plan(model, c.domain);
    TimeLoop other(plan);
    expect(surrogate_timeloop_connect(other.get(), "height_next", "height_now"), invalid,
           "is in 'm', input 'height_now' in 'km'");
    km["unit"] = "m";
    const Model fed = model_of(c.context, "tiny.safetensors", {coordinate_entry(), km},
                               {field_entry("height_next", 10, 2)});
    Plan plan_fed(fed, c.domain);
    TimeLoop third(plan_fed);
    const surrogate_array same = column(c.own.height.data(), c.own.n(), 0);
    expect(surrogate_timeloop_bind(third.get(), "height_now", "m", &same), SURROGATE_SUCCESS, "");
    expect(surrogate_timeloop_connect(third.get(), "height_next", "height_now"), SURROGATE_SHAPE,
           "numbers share memory");
}

TEST(TimeLoopRefusals, OfBoundsAndIntegrals) {
    HeightLoop c;
    surrogate_timeloop* const loop = c.loop.get();
    expect(surrogate_timeloop_set_bounds(loop, "x", 0, 1), SURROGATE_UNKNOWN_NAME,
           "outputs: height");
    expect(surrogate_timeloop_set_bounds(loop, "height", 1, 0), invalid,
           "bounds of output 'height'");
    expect(surrogate_timeloop_set_bounds(loop, "height", NAN, 0), invalid, "bounds");
    const auto conserve = [&](const char* name, const char* field,
                              const std::vector<double>& weight, double tolerance) {
        return surrogate_timeloop_conserve(loop, name, field,
                                           weight.empty() ? nullptr : weight.data(), tolerance);
    };
    expect(conserve("mass", "x", {}, 0), SURROGATE_UNKNOWN_NAME, "no output 'x'");
    expect(conserve("mass", "height", {}, -1), invalid, "tolerance");
    expect(conserve("mass", "height", {}, NAN), invalid, "tolerance");
    expect(conserve(nullptr, "height", {}, 0), invalid, "'name' is NULL");
    const std::vector<double> zeros(25, 0.0);
    expect(conserve("mass", "height", zeros, 0), invalid, "all weights are 0");
    for (int culprit = 0; culprit < c.context.size(); ++culprit) {
        std::vector<double> weight(25, 1.0);
        if (c.context.rank() == culprit) weight[0] = NAN;
        expect(conserve("mass", "height", weight, 0), SURROGATE_NOT_FINITE, "local point 0");
        if (c.context.rank() == culprit) weight[0] = -1;
        expect(conserve("mass", "height", weight, 0), invalid, "local point 0");
    }
    expect(surrogate_timeloop_add_source(loop, "mass", 1), SURROGATE_UNKNOWN_NAME,
           "integrals: none");
    EXPECT_EQ(conserve("mass", "height", {}, 0), SURROGATE_SUCCESS);
    expect(conserve("mass", "height", {}, 0), invalid, "declared already");
    expect(conserve("area", "height", {}, 0), invalid, "'mass' keeps output 'height'");
    expect(surrogate_timeloop_add_source(loop, "energy", 1), SURROGATE_UNKNOWN_NAME, "mass");
    expect(surrogate_timeloop_add_source(loop, "mass", NAN), SURROGATE_NOT_FINITE, "source");
}

TEST(TimeLoopRefusals, OfSteps) {
    HeightLoop c;
    surrogate_timeloop* const loop = c.loop.get();
    for (const double dt : {0.0, -1.0, double{NAN}, double{INFINITY}}) {
        expect(surrogate_timeloop_step(loop, dt, nullptr), invalid, "time step");
        expect(surrogate_timeloop_advance(loop, dt), invalid, "time step");
    }
    expect(surrogate_timeloop_set_time(loop, NAN, 0), invalid, "time");
    expect(surrogate_timeloop_set_time(loop, 0, -1), invalid, "step number");
    expect(surrogate_timeloop_rollout(loop, -1, 1, nullptr, nullptr), invalid, "n_step");
    c.loop.set("step_s", "2");
    for (const double dt : {1.0, 3.0, 2.001, 1e300})
        expect(surrogate_timeloop_step(loop, dt, nullptr), invalid, "multiple of step_s");
    EXPECT_EQ(c.loop.time(), 0);
    EXPECT_EQ(c.loop.step(4), StepOutcome::accepted);
}

TEST(TimeLoopRefusals, OfQueries) {
    HeightLoop c;
    surrogate_timeloop* const loop = c.loop.get();
    surrogate_guard_info info{};
    int64_t value = 0;
    expect(surrogate_timeloop_guard(loop, "rnage", &info), SURROGATE_UNKNOWN_NAME,
           "range, distance");
    expect(surrogate_timeloop_counter(loop, "stpes", &value), SURROGATE_UNKNOWN_NAME, "steps, ");
    expect(surrogate_timeloop_reason(loop, nullptr, nullptr), invalid, "n_text");
    char text[4] = "";
    int64_t size = sizeof text;
    expect(surrogate_timeloop_report(loop, text, &size), SURROGATE_SHAPE, "bytes");
    EXPECT_STREQ(text, "tim");
    EXPECT_GT(size, 100);
}

TEST(TimeLoopRefusals, OfNull) {
    expect(surrogate_timeloop_step(nullptr, 1, nullptr), invalid, "'loop' is NULL");
    expect(surrogate_timeloop_report(nullptr, nullptr, nullptr), invalid, "'loop' is NULL");
    surrogate_timeloop* loop = nullptr;
    expect(surrogate_timeloop_create(nullptr, &loop), invalid, "'plan' is NULL");
    surrogate_timeloop_destroy(&loop);
    surrogate_timeloop_destroy(nullptr);
    HeightLoop c;
    expect(surrogate_timeloop_create(c.plan.get(), nullptr), invalid, "'loop' is NULL");
}

TEST(TimeLoopRefusals, OfACardWithoutFields) {
    HeightLoop c;
    ModelParts<float> parts(SURROGATE_TEST_DATA "/flare/tiny.safetensors");
    const Model bare(c.context, parts.card.dump(), parts.tensors());
    Plan plan(bare, c.domain);
    surrogate_timeloop* loop = nullptr;
    expect(surrogate_timeloop_create(plan.get(), &loop), invalid, "names no fields");
    EXPECT_EQ(loop, nullptr);
}

/// One rank's mistake, in a run of all: every rank has the same answer, and the next step is right.
struct Mistake {
    const char* name;
    surrogate_status status;
    const char* text;
    double dt_s;
    bool unbinds;
};

TEST(TimeLoopRefusals, OfOneRankAreErrorsOfAll) {
    const Mistake mistakes[] = {
        {"a field that is not bound", invalid, "is not bound", 2, true},
        {"a bad time step", invalid, "time step is -1", -1, false},
        {"a time step with other sub-steps", invalid, "differ between ranks", 4, false},
    };
    for (const bool agrees : {false, true}) {
        for (const bool conserves : {false, true}) {
            for (const Mistake& mistake : mistakes) {
                const bool needs_others = mistake.dt_s == 4;
                for (int culprit = 0; culprit < size_of(MPI_COMM_WORLD); ++culprit) {
                    if (needs_others && size_of(MPI_COMM_WORLD) == 1) continue;
                    SCOPED_TRACE(mistake.name);
                    HeightLoop c(MPI_COMM_WORLD, "contiguous",
                                 {{"agree", agrees ? "true" : "false"}});
                    c.loop.set("step_s", "2");
                    if (conserves) c.loop.conserve("mass", "height", 1e3);
                    TimeLoop fresh(c.plan);
                    const bool is_here = c.context.rank() == culprit;
                    TimeLoop& loop = mistake.unbinds ? fresh : c.loop;
                    const surrogate_array array = column(c.own.height.data(), c.own.n());
                    if (mistake.unbinds && !is_here) loop.bind("height", array);
                    const std::vector<double> before = c.own.height;
                    const Answer found = answer(
                        surrogate_timeloop_step(loop.get(), is_here ? mistake.dt_s : 2, nullptr));
                    EXPECT_EQ(found.status, mistake.status) << found;
                    EXPECT_TRUE(found.says(mistake.text)) << found;
                    EXPECT_EQ(found, answer_of_rank_0(found, c.comm));
                    EXPECT_TRUE(same_bits(c.own.height, before));
                    EXPECT_EQ(loop.time(), 0);
                    loop.bind("height", array);
                    EXPECT_EQ(loop.step(2), StepOutcome::accepted);
                }
            }
        }
    }
}

TEST(TimeLoopRefusals, OfOptionsThatDifferBetweenRanks) {
    if (size_of(MPI_COMM_WORLD) == 1) GTEST_SKIP() << "one rank does not differ from itself";
    HeightLoop c;
    c.loop.set("range", c.context.rank() == 0 ? "stop" : "warn");
    expect(surrogate_timeloop_step(c.loop.get(), 1, nullptr), invalid, "differ between ranks");
}

/// The plan's own range=error: predictions exist, and are not taken.
TEST(TimeLoopRefusals, OfARunAreErrorsOfAll) {
    for (const char* agrees : {"false", "true"}) {
        HeightLoop c(MPI_COMM_WORLD, "contiguous", {{"range", "error"}, {"agree", agrees}});
        c.set(17, 99);
        const std::vector<double> before = c.own.height;
        const Answer found = answer(surrogate_timeloop_step(c.loop.get(), 1, nullptr));
        EXPECT_EQ(found.status, SURROGATE_OUT_OF_RANGE);
        EXPECT_TRUE(found.says("height")) << found;
        EXPECT_FALSE(found.says("rank 0: rank")) << found;
        EXPECT_EQ(found, answer_of_rank_0(found, c.comm));
        EXPECT_TRUE(same_bits(c.own.height, before));
    }
}

}  // namespace
}  // namespace surrogate::test
