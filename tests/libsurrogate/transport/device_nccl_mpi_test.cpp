// SPDX-License-Identifier: Apache-2.0
// Plans on emulated devices over ranks, with reductions by a fake NCCL or staged through MPI: the
// same predictions as on one rank, and statuses on all ranks when something fails.
#include <chrono>
#include <cmath>
#include <thread>

#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/device_case.hpp"
#include "tests/support/fake_nccl.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

constexpr int64_t n_row = 24;
constexpr double soon_s = 30;  // emulation is slow, machines are busy; a hang takes for ever

FakeNccl* nccl_of_test = nullptr;
const impl::NcclApi* fake_nccl(std::string&) {
    return &nccl_of_test->api();
}

class DeviceRanks : public testing::TestWithParam<const char*> {
protected:
    DeviceRanks() { nccl_of_test = &fake; }
    ~DeviceRanks() override { nccl_of_test = nullptr; }

    bool is_nccl() const { return GetParam() == std::string("NCCL"); }

    /// A device of its own for every rank, or one that all share.
    static void new_device(bool is_shared) {
        auto properties = EmulatedDevice::default_properties();
        properties.uuid = {};
        properties.uuid[0] = static_cast<uint8_t>(is_shared ? 0 : 1 + rank_of(world));
        emulated_device() = EmulatedDevice(properties);
    }
    static Context context_of(std::unique_ptr<impl::Communicator> ranks,
                              const impl::Options& options = {}) {
        auto handle = std::make_unique<surrogate_context>();
        handle->context = std::make_shared<impl::Context>(
            std::move(ranks), options, impl::Placement{}, impl::posix_files(),
            impl::DeviceSources{emulated_plugin, impl::collectives_with(fake_nccl)});
        handle->context->open();
        return Context(handle.release());
    }
    /// Context, model and points; the plan is made by make_plan().
    void begin(const char* timeout_s = "0") {
        plan.reset();
        domain.reset();
        model.reset();
        context.reset();
        new_device(!is_nccl());
        impl::Options options;
        options.set("backend", "cuda");
        options.set("timeout_s", timeout_s);
        context = std::make_unique<Context>(context_of(impl::mpi_communicator(world), options));
        model = std::make_unique<Model>(*context, small_darcy_model());
        points = std::make_unique<DarcyCase>(own_rows("scattered", n_row, world));
        domain = std::make_unique<Domain>(points->domain(*context));
    }
    Answer make_plan(const Options& options = {}) {
        surrogate_plan* made = nullptr;
        const Answer found = answer(
            surrogate_plan_create(model->get(), domain->get(), nullptr, options.get(), &made));
        plan.reset(made);
        if (!made) return found;
        check(surrogate_plan_bind_input(
            made, "mobility", nullptr, &(mobility = column(points->mobility.data(), points->n()))));
        check(surrogate_plan_bind_output(
            made, "pressure", nullptr, &(pressure = column(points->pressure.data(), points->n()))));
        return found;
    }
    /// Also that it ends soon.
    Answer run() {
        const auto start = std::chrono::steady_clock::now();
        const Answer found = answer(surrogate_plan_run(plan.get()));
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        EXPECT_LE(passed.count(), soon_s);
        return found;
    }
    /// The values of this rank's rows when one rank has them all.
    std::vector<double> alone(const Options& options) {
        const Context self = context_of(impl::self_communicator());
        const std::vector<double> all =
            predict(Model(self, small_darcy_model()), self, DarcyCase(first_rows(n_row)), options);
        std::vector<double> own;
        for (const int64_t row : own_rows("scattered", n_row, world))
            own.push_back(all[static_cast<size_t>(row)]);
        return own;
    }
    /// After a failure of the transport or the device, on this rank.
    void expect_broken_for_good() {
        const Answer later = run();
        EXPECT_TRUE(later.status == SURROGATE_BROKEN || later.status == SURROGATE_DEVICE) << later;
        plan.reset();
        domain.reset();
        model.reset();
        context.reset();
        EXPECT_EQ(fake.n_live(), 0);
        EXPECT_EQ(fake.misuse(), "");
        EXPECT_TRUE(ranks_still_talk(world));
    }

    struct Destroy {
        void operator()(surrogate_plan* made) const { surrogate_plan_destroy(&made); }
    };
    const int rank = rank_of(world), n_rank = size_of(world);
    FakeNccl fake;
    std::unique_ptr<Context> context;
    std::unique_ptr<Model> model;
    std::unique_ptr<DarcyCase> points;
    std::unique_ptr<Domain> domain;
    std::unique_ptr<surrogate_plan, Destroy> plan;
    surrogate_array mobility{}, pressure{};
};

INSTANTIATE_TEST_SUITE_P(By, DeviceRanks, testing::Values("NCCL", "staged"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(DeviceRanks, PredictAsOneRank) {
    begin();
    for (const char* reproducible : {"false", "true"}) {
        const Options options{{"backend", "cuda"}, {"reproducible", reproducible}};
        EXPECT_EQ(make_plan(options).status, SURROGATE_SUCCESS);
        for (int step = 0; step < 2; ++step) EXPECT_EQ(run().status, SURROGATE_SUCCESS);
        const std::vector<double> found = points->pressure;
        plan.reset();
        const std::vector<double> expected = alone(options);
        EXPECT_LE(relative_difference(found, expected), order_tolerance);
        if (reproducible == std::string("true")) {
            EXPECT_EQ(found, expected);
        }
    }
}

TEST_P(DeviceRanks, SayHowTheyTalk) {
    begin();
    ASSERT_EQ(make_plan().status, SURROGATE_SUCCESS);
    const std::string described = detail::text_of(plan.get(), surrogate_plan_describe);
    const std::string expected =
        is_nccl() ? "NCCL 2.27.3: every rank has a device of its own" : "MPI, staged: ranks 0, 1";
    EXPECT_NE(described.find(expected), std::string::npos) << described;
}

TEST_P(DeviceRanks, RecordRunsOnlyIfReductionsCanBe) {
    begin();
    ASSERT_EQ(make_plan().status, SURROGATE_SUCCESS);
    EXPECT_EQ(run().status, SURROGATE_SUCCESS);
    EXPECT_EQ(emulated_device().counts().n_graph_launch, is_nccl() ? 1 : 0);
}

TEST_P(DeviceRanks, LateOnesAreWaitedFor) {
    begin();
    ASSERT_EQ(make_plan({{"reproducible", "true"}}).status, SURROGATE_SUCCESS);
    EXPECT_EQ(run().status, SURROGATE_SUCCESS);
    const std::vector<double> expected = points->pressure;
    for (int late = 0; late < n_rank; ++late) {
        if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(300));
        EXPECT_EQ(run().status, SURROGATE_SUCCESS);
        EXPECT_EQ(points->pressure, expected);
    }
}

TEST_P(DeviceRanks, WrongArgumentsOfOnePoisonThisRunOnly) {
    begin();
    for (const char* reproducible : {"false", "true"}) {
        ASSERT_EQ(make_plan({{"reproducible", reproducible}}).status, SURROGATE_SUCCESS);
        EXPECT_EQ(run().status, SURROGATE_SUCCESS);
        const std::vector<double> expected = points->pressure;
        for (int culprit = 0; culprit < n_rank; ++culprit) {
            if (rank == culprit) surrogate_plan_unbind(plan.get());
            const Answer found = run();
            EXPECT_EQ(found.status,
                      rank == culprit ? SURROGATE_INVALID_ARGUMENT : SURROGATE_NOT_FINITE)
                << found;
            check(surrogate_plan_bind_input(plan.get(), "mobility", nullptr, &mobility));
            check(surrogate_plan_bind_output(plan.get(), "pressure", nullptr, &pressure));
            EXPECT_EQ(run().status, SURROGATE_SUCCESS);
            EXPECT_EQ(relative_difference(points->pressure, expected), 0);
        }
    }
}

TEST_P(DeviceRanks, ADeviceThatBreaksIsAStatusOnAll) {
    for (int culprit = 0; culprit < n_rank; ++culprit) {
        SCOPED_TRACE("culprit " + std::to_string(culprit));
        begin("3");
        ASSERT_EQ(make_plan().status, SURROGATE_SUCCESS);
        EXPECT_EQ(run().status, SURROGATE_SUCCESS);
        if (rank == culprit) emulated_device().fail_at(3, kernels::Status::device);
        const Answer found = run();
        EXPECT_NE(found.status, SURROGATE_SUCCESS);
        EXPECT_TRUE(rank != culprit || found.status == SURROGATE_DEVICE) << found;
        expect_broken_for_good();
    }
}

class DeviceNccl : public DeviceRanks {};
INSTANTIATE_TEST_SUITE_P(By, DeviceNccl, testing::Values("NCCL"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(DeviceNccl, AsynchronousErrorsInARunAreStatusesOnAll) {
    for (int culprit = 0; culprit < n_rank; ++culprit) {
        for (const bool is_heard : {false, true}) {
            SCOPED_TRACE("culprit " + std::to_string(culprit));
            fake.set({});
            begin(is_heard ? "0" : "3");
            ASSERT_EQ(make_plan().status, SURROGATE_SUCCESS);
            EXPECT_EQ(run().status, SURROGATE_SUCCESS);
            // The recorded reductions carry the faults they were recorded with: a new plan.
            NcclFaults faults;
            faults.dying_operation = 2 + 4 + 2 + 1;  // warm-up, run, warm-up, second of a run
            faults.is_death_heard = is_heard;
            fake.set(rank == culprit ? faults : NcclFaults{});
            ASSERT_EQ(make_plan().status, SURROGATE_SUCCESS);
            Answer found;
            for (int step = 0; step < 3 && found.status == SURROGATE_SUCCESS; ++step) found = run();
            EXPECT_EQ(found.status, SURROGATE_DEVICE) << found;
            EXPECT_TRUE(found.says("rank " + std::to_string(rank))) << found;
            expect_broken_for_good();
        }
    }
}

TEST_P(DeviceNccl, ARankThatDoesNotRunEndsTheOthersByTheLimit) {
    begin("2");
    ASSERT_EQ(make_plan().status, SURROGATE_SUCCESS);
    EXPECT_EQ(run().status, SURROGATE_SUCCESS);
    if (rank != 0) {
        const Answer found = run();
        EXPECT_EQ(found.status, SURROGATE_DEVICE) << found;
        EXPECT_TRUE(found.says("timeout_s")) << found;
    }
    MPI_Barrier(world);
    if (rank == 0) {
        const Answer found = run();
        EXPECT_EQ(found.status, SURROGATE_DEVICE) << found;
    }
    expect_broken_for_good();
}

/// NCCL waits for the graphs of all plans when it is aborted, also of those that do not run.
TEST_P(DeviceNccl, ATimeLimitPassesWithTwoPlansAlive) {
    for (int absent = 0; absent < n_rank; ++absent) {
        begin("1");
        ASSERT_EQ(make_plan().status, SURROGATE_SUCCESS);
        auto other = std::move(plan);
        ASSERT_EQ(make_plan().status, SURROGATE_SUCCESS);
        EXPECT_EQ(emulated_device().counts().graphs, 2);
        if (rank != absent) {
            const Answer found = run();
            EXPECT_EQ(found.status, SURROGATE_DEVICE) << found;
            EXPECT_TRUE(found.says("timeout_s")) << found;
            EXPECT_EQ(emulated_device().counts().graphs, 0);
            EXPECT_EQ(fake.n_live(), 0);
            const Answer later = answer(surrogate_plan_run(other.get()));
            EXPECT_EQ(later.status, SURROGATE_BROKEN) << later;
            EXPECT_TRUE(later.says("timeout_s")) << later;
        }
        MPI_Barrier(world);
        if (rank == absent) {
            EXPECT_EQ(run().status, SURROGATE_DEVICE);
        }
        other.reset();
        expect_broken_for_good();
    }
}

/// The recording that NCCL fails in is ended before NCCL is aborted. The other ranks have recorded
/// more operations, and do not use the context either.
TEST_P(DeviceNccl, AnOperationThatFailsInARecordingBreaksAllRanks) {
    for (int culprit = 0; culprit < n_rank; ++culprit) {
        fake.set({});
        begin();
        NcclFaults faults;
        const int n_enqueued = fake.n_call("all_reduce");
        faults.failing_enqueue = n_enqueued + 2 + 1;  // warm-up, second of a run
        fake.set(rank == culprit ? faults : NcclFaults{});
        const Answer found = make_plan();
        EXPECT_EQ(found.status, SURROGATE_DEVICE) << found;
        EXPECT_TRUE(found.says("rank " + std::to_string(culprit) + ": ncclAllReduce failed"))
            << found;
        EXPECT_EQ(emulated_device().counts().n_wrong, 0);
        fake.set({});
        const Answer later = make_plan();
        EXPECT_EQ(later.status, SURROGATE_BROKEN) << later;
        EXPECT_EQ(fake.n_live(), 0);
        EXPECT_EQ(fake.misuse(), "");
        EXPECT_TRUE(ranks_still_talk(world));
    }
}

/// A device that fails in a recording: between the operations of NCCL the context is broken for all
/// ranks, behind the last one nothing is lost.
TEST_P(DeviceNccl, ACallThatFailsInARecordingLeavesRanksAgreed) {
    const int culprit = n_rank - 1;
    bool has_failed = true;
    int n_broken = 0;
    for (int64_t n = 1; has_failed; ++n) {
        SCOPED_TRACE("call " + std::to_string(n));
        begin();
        if (rank == culprit) emulated_device().fail_in_recording(n, kernels::Status::no_memory);
        const Answer found = make_plan();
        has_failed = found.status != SURROGATE_SUCCESS;
        ASSERT_EQ(found, answer_of_rank_0(found, world));
        const Answer next = make_plan();
        EXPECT_EQ(next.status, answer_of_rank_0(next, world).status);
        if (next.status == SURROGATE_SUCCESS) {
            EXPECT_EQ(run().status, SURROGATE_SUCCESS);
            continue;
        }
        ++n_broken;
        EXPECT_EQ(next.status, SURROGATE_BROKEN) << next;
        EXPECT_TRUE(next.says("could not be recorded")) << next;
    }
    EXPECT_GE(n_broken, 3);
    EXPECT_EQ(fake.misuse(), "");
}

TEST_P(DeviceNccl, FailingToStartIsToldToAllByTheRankThatFailed) {
    for (int culprit = 0; culprit < n_rank; ++culprit) {
        NcclFaults faults;
        faults.late_init = impl::NcclResult::unhandled_cuda_error;
        fake.set(rank == culprit ? faults : NcclFaults{});
        Answer found;
        try {
            begin("2");
        } catch (const kernels::Error& error) {
            found = {static_cast<surrogate_status>(error.status()), error.what()};
        }
        EXPECT_EQ(found.status, SURROGATE_DEVICE) << found;
        EXPECT_TRUE(found.says("rank " + std::to_string(culprit) + ": ncclCommInitRankConfig"))
            << found;
        EXPECT_EQ(fake.n_live(), 0);
        EXPECT_TRUE(ranks_still_talk(world));
    }
}

}  // namespace
}  // namespace surrogate::test
