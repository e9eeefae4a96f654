// SPDX-License-Identifier: Apache-2.0
// Plans with backend cuda on several ranks, each with an emulated device: golden files under every
// partition, one set of bits in reproducible mode, one rank at fault. Reductions pass through MPI,
// or through a NCCL that is pretended.
#include <cmath>
#include <cstring>
#include <functional>
#include <span>

#include "tests/support/darcy_case.hpp"
#include "tests/support/device_ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// Rows of all ranks in their order, on all ranks. Collective.
std::vector<float> gather_rows(const std::vector<int64_t>& rows, const std::vector<float>& own,
                               int64_t n, int64_t n_column) {
    std::vector<float> all(static_cast<size_t>(n * n_column), 0);
    for (size_t i = 0; i < rows.size(); ++i)
        for (int64_t c = 0; c < n_column; ++c)
            all[static_cast<size_t>(rows[i] * n_column + c)] =
                own[i * static_cast<size_t>(n_column) + static_cast<size_t>(c)];
    MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_FLOAT, MPI_SUM,
                  world);
    return all;
}

std::vector<float> run_on_ranks(const Context& context, const FlareCase& golden,
                                const char* partition, const Options& options) {
    const Model model(context, golden.path);
    const std::vector<int64_t> rows = own_rows(partition, golden.n, world);
    const auto n = static_cast<int64_t>(rows.size());
    const Domain domain = rows_domain(context, rows);
    Plan plan(model, domain, options);
    std::vector<float> x = golden.rows_of_x(rows);
    std::vector<float> y(static_cast<size_t>(n * golden.n_out), NAN);
    plan.run_network({{"x", matrix(x.data(), n, golden.n_in)}},
                     {{"y", matrix(y.data(), n, golden.n_out)}});
    return gather_rows(rows, y, golden.n, golden.n_out);
}

TEST(DeviceRanks, GoldenFilesWithinTheBoundOfTheirPrecision) {
    const Context context = ranks_context(false);
    for (const char* file : {"tiny", "tiny_options", "layers"}) {
        const FlareCase golden(file);
        for (const char* precision : {"fp32", "fp16"}) {
            for (const char* partition : {"contiguous", "scattered", "uneven"}) {
                const std::vector<float> y = run_on_ranks(
                    context, golden, partition, {{"backend", "cuda"}, {"precision", precision}});
                EXPECT_LE(relative_l2({y.begin(), y.end()}, golden.y64), golden.bound(precision))
                    << file << " " << precision << " " << partition;
            }
        }
    }
}

TEST(DeviceRanks, ReproducibleBitsAreThoseOfOneRank) {
    const Context context = ranks_context(true);
    const FlareCase golden("layers");
    for (const char* precision : {"fp32", "bf16"}) {
        const Options options{
            {"backend", "cuda"}, {"reproducible", "true"}, {"precision", precision}};
        // Alone: every rank by itself, all points.
        const Context alone = device_context(emulated_kind, impl::self_communicator());
        const Model model(alone, golden.path);
        const std::vector<int64_t> rows = first_rows(golden.n);
        const Domain domain = rows_domain(alone, rows);
        Plan plan(model, domain, options);
        std::vector<float> x = golden.rows_of_x(rows), expected(x.size() / 3);
        plan.run_network({{"x", matrix(x.data(), golden.n, 3)}},
                         {{"y", matrix(expected.data(), golden.n, 1)}});
        for (const char* partition : {"contiguous", "scattered", "uneven"}) {
            EXPECT_EQ(run_on_ranks(context, golden, partition, options), expected)
                << precision << " " << partition;
        }
    }
}

TEST(DeviceRanks, BlocksOfManyRanksGiveTheSameBits) {
    // More than one canonical block of 1024 points, so that several ranks compute.
    const Context context = ranks_context(false);
    const Context alone = device_context(emulated_kind, impl::self_communicator());
    constexpr int64_t n = 1024 + 100;
    const Options options{{"backend", "cuda"}, {"reproducible", "true"}, {"precision", "fp16"}};
    const auto rows_and_results = [&](const Context& where, std::vector<int64_t> rows) {
        const Model model(where, small_darcy_model());
        const std::vector<double> values = predict(model, where, DarcyCase(rows), options);
        return std::pair(std::move(rows), values);
    };
    const auto [all, expected] = rows_and_results(alone, first_rows(n));
    const auto [own, found] = rows_and_results(context, own_rows("scattered", n, world));
    for (size_t i = 0; i < own.size(); ++i)
        EXPECT_EQ(found[i], expected[static_cast<size_t>(own[i])]) << own[i];
}

TEST(DeviceRanks, TransportAndCountersAreThoseOfTheTable) {
    const Context context = ranks_context(true);
    const Model model(context, small_darcy_model());
    DarcyCase points(own_rows("uneven", 40, world));
    const Domain domain = points.domain(context);
    Plan plan(model, domain, {{"backend", "cuda"}});
    points.bind(plan);
    plan.run();
    EXPECT_EQ(plan.counter("bytes_sent"), 2 * 4 * 3 * (8 + 2 * 2));  // blocks, 4 M (C + 2 H)
    EXPECT_EQ(plan.counter("collectives"), 2 * 2);
    const std::string text = plan.describe();
    if (context.size() == 1) GTEST_SKIP() << "the rest is text of reductions: needs two ranks";
    for (const char* part : {"reductions by MPI, staged: ", "launched piece by piece"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

TEST(DeviceRanks, OneRankWithoutMemoryIsToldToAll) {
    kernels::DeviceProperties small = EmulatedDevice::default_properties();
    const int culprit = size_of(world) - 1;
    if (rank_of(world) == culprit) small.memory_bytes = int64_t{2} << 20;
    emulated_device() = EmulatedDevice(small);
    const Context context = device_context(emulated_kind, impl::mpi_communicator(world));
    const Model model(context, small_darcy_model());
    const auto plan_of = [&](int64_t n) {
        const DarcyCase points(own_rows("contiguous", n, world));
        const Domain domain = points.domain(context);
        const Options options{{"backend", "cuda"}};
        surrogate_plan* plan = nullptr;
        const Answer found =
            answer(surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan));
        surrogate_plan_destroy(&plan);
        return found;
    };
    const int64_t before = emulated_device().counts().allocations;
    const Answer refused = plan_of(30000);
    EXPECT_EQ(refused.status, SURROGATE_NO_MEMORY) << refused;
    EXPECT_EQ(refused, answer_of_rank_0(refused, world));
    EXPECT_EQ(emulated_device().counts().allocations, before);
    EXPECT_TRUE(ranks_still_talk(world));
    EXPECT_EQ(plan_of(20).status, SURROGATE_SUCCESS);
}

// Out of memory comes from allocations alone; where anything else fails while ranks meet, the
// context is broken, for all of them, at once or with their next reduction.
TEST(DeviceRanks, AnyCallThatFailsAtPlanningOnOneRankIsToldToAll) {
    const int culprit = size_of(world) - 1;
    const Options options{{"backend", "cuda"}};
    int has_failed = 1;
    for (int64_t n = 1; has_failed; ++n) {
        const Context context = ranks_context(true);
        const Model model(context, small_darcy_model());
        const DarcyCase points(own_rows("contiguous", 20, world));
        const Domain domain = points.domain(context);
        EmulatedDevice device(emulated_device());
        const int64_t before = device.counts().allocations;
        const auto make_plan = [&] {
            surrogate_plan* plan = nullptr;
            // The first plan opens the device.
            const Answer found = answer(
                surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan));
            surrogate_plan_destroy(&plan);
            return found;
        };
        const bool is_culprit = rank_of(world) == culprit;
        if (is_culprit) device.fail_at(n, kernels::Status::no_memory);
        const Answer found = make_plan();
        has_failed = is_culprit ? device.fail_at(0, kernels::Status::success) >= n : 0;
        MPI_Bcast(&has_failed, 1, MPI_INT, culprit, world);
        EXPECT_TRUE(ranks_still_talk(world));
        EXPECT_EQ(found.status == SURROGATE_SUCCESS, !has_failed) << "call " << n << ": " << found;
        EXPECT_EQ(found, answer_of_rank_0(found, world)) << "call " << n;
        EXPECT_EQ(device.counts().allocations, before) << "call " << n;
        const Answer next = make_plan();
        const bool is_known = next.status == SURROGATE_SUCCESS || next.status == SURROGATE_BROKEN ||
                              next.status == SURROGATE_DEVICE;
        EXPECT_TRUE(is_known) << "after call " << n << ": " << next;
        EXPECT_EQ(next, answer_of_rank_0(next, world)) << "after call " << n;
        EXPECT_EQ(device.counts().allocations, before) << "after call " << n;
    }
}

// ---- NCCL ----

class DeviceNccl : public testing::Test {
protected:
    void SetUp() override {
        if (size_of(world) == 1) GTEST_SKIP() << "one rank reduces nothing";
        pretended = &nccl;
    }
    FakeNccl nccl;
};

TEST_F(DeviceNccl, GraphsHoldTheReductionsAndGiveTheSameNumbers) {
    const Context context = ranks_context(false, pretended_nccl);
    const Context staged = device_context(emulated_kind, impl::mpi_communicator(world));
    for (const char* file : {"tiny_options", "layers"}) {
        const FlareCase golden(file);
        for (const char* partition : {"scattered", "uneven"}) {
            const Options fast{{"backend", "cuda"}};
            const std::vector<float> y = run_on_ranks(context, golden, partition, fast);
            EXPECT_LE(relative_l2({y.begin(), y.end()}, golden.y64), golden.bound("fp32"))
                << file << " " << partition;
            const Options exact{{"backend", "cuda"}, {"reproducible", "true"}};
            EXPECT_EQ(run_on_ranks(context, golden, partition, exact),
                      run_on_ranks(staged, golden, partition, exact))
                << file << " " << partition;
        }
    }
    EXPECT_EQ(nccl.misuse(), "");
}

TEST_F(DeviceNccl, RunsOnAStreamAreEnqueuedOnAllRanksAndCounted) {
    const Context context = ranks_context(false, pretended_nccl);
    const Model model(context, small_darcy_model());
    DarcyCase points(own_rows("scattered", 20, world));
    const Domain domain = points.domain(context);
    Plan plan(model, domain, {{"backend", "cuda"}});
    const std::string text = plan.describe();
    for (const char* part : {"reductions by NCCL 2.27.3: ", "a run is one graph"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
    points.bind(plan);
    plan.run();
    const std::vector<double> expected = points.pressure;

    EmulatedDevice device(emulated_device());
    const DeviceArray<double> mobility(device, points.mobility);
    const DeviceArray<double> pressure(device, points.pressure);
    const impl::DeviceStream stream(device, device.create_stream());
    plan.bind_input("mobility", mobility.column(points.n()));
    plan.bind_output("pressure", pressure.column(points.n()));
    plan.set_stream(stream.get());
    const int64_t n_synchronize = device.counts().n_synchronize;
    for (int step = 0; step < 3; ++step) plan.run();
    EXPECT_EQ(device.counts().n_synchronize, n_synchronize);
    EXPECT_EQ(plan.counter("bytes_sent"), 2 * 4 * 3 * (8 + 2 * 2));  // blocks, 4 M (C + 2 H)
    EXPECT_EQ(plan.counter("collectives"), 2 * 2);
    plan.wait();
    EXPECT_LE(relative_difference(pressure.get(), expected), 1e-14);
    EXPECT_EQ(nccl.misuse(), "");
}

TEST_F(DeviceNccl, TwoPlansOnTwoStreamsTakeTurns) {
    const Context context = ranks_context(false, pretended_nccl);
    const Model model(context, small_darcy_model());
    DarcyCase points(own_rows("scattered", 20, world));
    const Domain domain = points.domain(context);
    Plan a(model, domain, {{"backend", "cuda"}}), b(model, domain, {{"backend", "cuda"}});
    points.bind(a);
    a.run();
    EmulatedDevice device(emulated_device());
    const DeviceArray<double> mobility(device, points.mobility);
    const DeviceArray<double> p(device, points.pressure), q(device, points.pressure);
    const impl::DeviceStream first(device, device.create_stream());
    const impl::DeviceStream second(device, device.create_stream());
    a.bind_input("mobility", mobility.column(points.n()));
    b.bind_input("mobility", mobility.column(points.n()));
    a.bind_output("pressure", p.column(points.n()));
    b.bind_output("pressure", q.column(points.n()));
    a.set_stream(first.get());
    b.set_stream(second.get());
    for (int step = 0; step < 4; ++step) {
        a.run();
        b.run();
    }
    a.wait();
    b.wait();
    EXPECT_LE(relative_difference(p.get(), points.pressure), 1e-14);
    EXPECT_EQ(p.get(), q.get());
    EXPECT_EQ(nccl.misuse(), "");
}

// ---- one rank at fault in a run ----

struct Step {
    Step(const Context& context, const Model& model, const char* reproducible)
        : points(own_rows("scattered", 20, world)),
          domain(points.domain(context)),
          plan(model, domain, {{"backend", "cuda"}, {"reproducible", reproducible}}),
          device(emulated_device()),
          mobility(device, points.mobility),
          pressure(device, points.pressure) {
        bind();
    }
    void bind() {
        plan.bind_input("mobility", mobility.column(points.n()));
        plan.bind_output("pressure", pressure.column(points.n()));
    }
    surrogate_status run() { return surrogate_plan_run(plan.get()); }

    DarcyCase points;
    Domain domain;
    Plan plan;
    EmulatedDevice device;
    DeviceArray<double> mobility, pressure;
};

/// Handles of streams are not compared: another stream may have the handle of one that is gone.
TEST_F(DeviceNccl, EveryRunWaitsForTheReductionsBefore) {
    const Context context = ranks_context(false, pretended_nccl);
    const Model model(context, small_darcy_model());
    Step step(context, model, "false");
    const impl::DeviceStream stream(step.device, step.device.create_stream());
    step.plan.set_stream(stream.get());
    step.plan.run();
    const int64_t n_wait = step.device.counts().n_wait;
    step.plan.run();
    EXPECT_EQ(step.device.counts().n_wait, n_wait + 1) << "runs on one stream";
    step.plan.set_stream(stream.get());
    EXPECT_EQ(step.device.counts().n_wait, n_wait + 2) << "the same stream set again";
    step.plan.wait();
}

struct Fault {
    const char* name;
    surrogate_status status;
    surrogate_status (*run)(Step&);
};

surrogate_status unbound(Step& step) {
    surrogate_plan_unbind(step.plan.get());
    return step.run();
}

surrogate_status with_nan(Step& step) {
    std::vector<double> bad = step.points.mobility;
    bad.back() = NAN;
    step.mobility.put(bad);
    const surrogate_status status = step.run();
    step.mobility.put(step.points.mobility);
    return status;
}

surrogate_status with_nan_on_the_host(Step& step) {
    std::vector<double> bad = step.points.mobility;
    bad.back() = INFINITY;
    step.plan.bind_input("mobility", column(bad.data(), step.points.n()));
    return step.run();
}

const Fault faults[] = {
    {"Unbound", SURROGATE_INVALID_ARGUMENT, unbound},
    {"NanOnTheDevice", SURROGATE_NOT_FINITE, with_nan},
    {"InfinityOnTheHost", SURROGATE_NOT_FINITE, with_nan_on_the_host},
};

TEST(DeviceRanks, BadArgumentsOfOneRankPoisonOneRunOnly) {
    const Context context = ranks_context(true);
    const Model model(context, small_darcy_model());
    for (const char* reproducible : {"false", "true"}) {
        Step step(context, model, reproducible);
        EXPECT_EQ(step.run(), SURROGATE_SUCCESS);
        const std::vector<double> expected = step.pressure.get();
        for (const Fault& fault : faults) {
            for (int culprit = 0; culprit < context.size(); ++culprit) {
                const bool is_culprit = context.rank() == culprit;
                const Answer found = answer(is_culprit ? fault.run(step) : step.run());
                EXPECT_EQ(found.status, is_culprit ? fault.status : SURROGATE_NOT_FINITE)
                    << fault.name << " " << found;
                if (!is_culprit) {
                    for (const double p : step.pressure.get()) EXPECT_TRUE(std::isnan(p));
                }
                step.bind();
                EXPECT_EQ(step.run(), SURROGATE_SUCCESS) << fault.name;
                EXPECT_EQ(step.pressure.get(), expected) << fault.name;
            }
        }
    }
}

TEST(DeviceRanks, AStreamThatIsCapturedOnOneRankIsRefusedThereOnly) {
    for (const bool is_shared : {true, false}) {
        FakeNccl nccl;
        pretended = &nccl;
        const Context context = ranks_context(is_shared, is_shared ? nullptr : pretended_nccl);
        const Model model(context, small_darcy_model());
        Step step(context, model, "false");
        const impl::DeviceStream stream(step.device, step.device.create_stream());
        step.plan.set_stream(stream.get());
        step.plan.run();
        step.plan.wait();
        const std::vector<double> expected = step.pressure.get();
        for (int culprit = 0; culprit < context.size(); ++culprit) {
            const bool is_culprit = context.rank() == culprit;
            if (is_culprit) step.device.begin_capture(stream.get());
            Answer found = answer(step.run());
            if (found.status == SURROGATE_SUCCESS)
                found = answer(surrogate_plan_wait(step.plan.get()));
            if (is_culprit) step.device.destroy_graph(step.device.end_capture(stream.get()));
            EXPECT_EQ(found.status, is_culprit ? SURROGATE_NOT_SUPPORTED : SURROGATE_NOT_FINITE)
                << found;
            step.plan.run();
            step.plan.wait();
            EXPECT_EQ(step.pressure.get(), expected);
        }
        EXPECT_EQ(nccl.misuse(), "");
    }
}

// A device that fails on one rank: no rank waits, and no rank gets plausible numbers.
TEST(DeviceRanks, ADeviceThatFailsOnOneRankLeavesNobodyWaiting) {
    for (const char* reproducible : {"false", "true"}) {
        for (int64_t n = 1; n <= 30; n += 3) {
            const Context context = ranks_context(true);
            const Model model(context, small_darcy_model());
            Step step(context, model, reproducible);
            const std::vector<double> untouched(step.points.pressure.size(), -1);
            const bool is_culprit = context.rank() == context.size() - 1;
            if (is_culprit) step.device.fail_at(n, kernels::Status::device);
            const Answer found = answer(step.run());
            EXPECT_TRUE(ranks_still_talk(world));
            const bool has_failed =
                is_culprit && step.device.fail_at(0, kernels::Status::success) >= n;
            EXPECT_TRUE(!has_failed || found.status != SURROGATE_SUCCESS) << "call " << n;
            int any = has_failed;
            MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, world);
            if (!any || is_culprit || found.status != SURROGATE_SUCCESS) continue;
            // Only a failure after the last reduction leaves the others well.
            DarcyCase alone(first_rows(20));
            const Context self = device_context(emulated_kind, impl::self_communicator());
            const Model its_model(self, small_darcy_model());
            const std::vector<double> expected = predict(its_model, self, alone);
            const std::vector<double> own = step.pressure.get();
            for (size_t i = 0; i < own.size(); ++i) {
                EXPECT_LE(std::abs(own[i] - expected[static_cast<size_t>(step.points.ids[i])]),
                          1e-6)
                    << "call " << n;
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::test
