// SPDX-License-Identifier: Apache-2.0
// Inputs of a time loop that are one number per cloud.
#include "tests/coupling/timeloop/loop_case.hpp"

namespace surrogate::test {
namespace {

/// Steps `height` of a line of points with a number `load`, in training 0 .. 4.
struct LoadedLoop {
    explicit LoadedLoop(const char* role, const Options& options = {})
        : context(mpi_context(MPI_COMM_WORLD, {{"threads", "1"}})),
          model(loaded_model(context, role)),
          own(own_rows("contiguous", 24, MPI_COMM_WORLD)),
          domain(context, own.points()),
          plan(model, domain, options),
          loop(plan) {
        loop.bind("height", column(own.height.data(), own.n()), "m");
    }
    static Model loaded_model(const Context& context, const char* role) {
        nlohmann::json load = input_entry("load", 2, 1, 0, 4);
        load["role"] = role;
        return model_of(context, "odd.safetensors",
                        {coordinate_entry(), input_entry("height", 10, 2, 4, 16), load},
                        {field_entry("height", 10, 2), field_entry("other", 0, 1)});
    }
    Context context;
    Model model;
    Points own;
    Domain domain;
    Plan plan;
    TimeLoop loop;
    std::vector<double> other = std::vector<double>(own.height.size());
};

TEST(TimeLoopNumbers, EqualTheSameNumbersAtPoints) {
    LoadedLoop one("cloud"), all("field");
    for (LoadedLoop* l : {&one, &all}) l->loop.bind("other", column(l->other.data(), l->own.n()));
    double load = 1;
    one.loop.bind("load", load, "m");
    std::vector<double> loads(all.own.height.size());
    all.loop.bind("load", column(loads.data(), all.own.n()));
    for (LoadedLoop* l : {&one, &all})
        for (const char* guard : {"range", "bounds"}) l->loop.set(guard, "off");
    for (const double value : {1.0, 2.5, 0.5}) {
        load = value;
        std::ranges::fill(loads, value);
        one.loop.step(1);
        all.loop.step(1);
        EXPECT_EQ(one.own.height, all.own.height);
        check(surrogate_timeloop_unbind(one.loop.get()));
        one.loop.bind("height", column(one.own.height.data(), one.own.n()));
        one.loop.bind("other", column(one.other.data(), one.own.n()));
    }
}

TEST(TimeLoopNumbers, OutsideTheRangeAreRejectedByTheGuard) {
    LoadedLoop l("cloud");
    l.loop.bind("other", column(l.other.data(), l.own.n()));
    l.loop.set("range", "fallback");
    double load = 4.5;
    l.loop.bind("load", load);
    EXPECT_EQ(l.loop.step(1), StepOutcome::rejected);
    EXPECT_EQ(l.loop.guard("range").value, 4.5);
    EXPECT_NE(l.loop.reason().find("'load'"), std::string::npos) << l.loop.reason();
    load = 4;
    EXPECT_EQ(l.loop.step(1), StepOutcome::accepted);
}

TEST(TimeLoopNumbers, ThatAreWrongAreOneErrorOnAllRanks) {
    LoadedLoop l("cloud");
    l.loop.bind("other", column(l.other.data(), l.own.n()));
    const auto step = [&] {
        int32_t outcome = 0;
        const Answer found = answer(surrogate_timeloop_step(l.loop.get(), 1, &outcome));
        EXPECT_TRUE(found == answer_of_rank_0(found, MPI_COMM_WORLD)) << found;
        return found;
    };
    EXPECT_TRUE(step().says("input 'load' is not bound"));
    double load = NAN;
    l.loop.bind("load", load);
    EXPECT_EQ(step().status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(step().says("'load' is nan at all points")) << step();
    load = rank_of(MPI_COMM_WORLD) == 0 ? 2 : 3;
    const Answer differs = step();
    if (size_of(MPI_COMM_WORLD) > 1) {
        EXPECT_EQ(differs.status, SURROGATE_INVALID_ARGUMENT);
        EXPECT_TRUE(differs.says("numbers per cloud")) << differs;
    }
    const surrogate_array two = column(l.other.data(), 2);
    EXPECT_EQ(surrogate_timeloop_bind(l.loop.get(), "load", nullptr, &two), SURROGATE_SHAPE);
    const surrogate_block block = {&load, {1}, {1}, 1, SURROGATE_FLOAT64, 0, 0};
    EXPECT_EQ(surrogate_timeloop_bind_block(l.loop.get(), "load", nullptr, &block),
              SURROGATE_NOT_SUPPORTED);
}

}  // namespace
}  // namespace surrogate::test
