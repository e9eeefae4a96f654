// SPDX-License-Identifier: Apache-2.0
// Reductions between devices that fail: every rank returns soon and with a status, the ranks can
// still talk, and what is left can be destroyed.
#include <gtest/gtest.h>

#include "tests/libsurrogate/transport/device_collectives_case.hpp"
#include "tests/support/failing_allocations.hpp"

namespace surrogate::test {
namespace {

std::string rank_text(int rank) {
    return "rank " + std::to_string(rank) + ": ";
}

/// One rank at fault, each in turn.
class NcclFaultsOfOneRank : public DeviceCollectivesTest {
protected:
    void SetUp() override {
        if (n_rank == 1) GTEST_SKIP() << "one rank at fault and another: needs two";
    }
    void for_each_culprit(const std::function<void(int culprit)>& body) {
        for (int culprit = 0; culprit < n_rank; ++culprit) {
            SCOPED_TRACE("culprit " + std::to_string(culprit));
            body(culprit);
            collectives.reset();
            fake.set({});
            expect_ranks_to_talk();
        }
    }
    void set(bool is_culprit, const NcclFaults& faults) {
        fake.set(is_culprit ? faults : NcclFaults{});
    }
    /// After a failure: every call says so at once, with the first cause.
    void expect_broken(DeviceNumbers<float>& numbers, const Ended& first) {
        for (const Ended& later : {reduce(numbers), wait(), ended([&] { collectives->check(); })}) {
            EXPECT_EQ(later.status, Status::broken) << later;
            EXPECT_TRUE(later.says(first.text)) << later;
            EXPECT_LE(later.seconds, 0.1);
        }
        device.synchronize(stream);  // what hung there was let go
    }
    Ended reduce_and_wait(DeviceNumbers<float>& numbers) {
        return ended([&] {
            for (int i = 0; i < 4; ++i)
                collectives->all_reduce_sum(numbers.data(), numbers.count(), stream);
            collectives->wait(stream);
        });
    }
};

TEST_F(NcclFaultsOfOneRank, NotComingEndsTheOthersByTheLimit) {
    for_each_culprit([&](int culprit) {
        make();
        DeviceNumbers<float> numbers(device, {1.0F}, stream);
        if (rank != culprit) {
            const Ended found = reduce_and_wait(numbers);
            EXPECT_EQ(found.status, Status::device) << found;
            EXPECT_TRUE(found.text.starts_with(rank_text(rank))) << found;
            EXPECT_TRUE(found.says("has not ended within 0.25 s")) << found;
            EXPECT_GE(found.seconds, timeout_s);
            EXPECT_LE(found.seconds, soon_s);
            expect_broken(numbers, found);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == culprit) {  // comes late: the others are gone
            const Ended found = reduce_and_wait(numbers);
            EXPECT_EQ(found.status, Status::device) << found;
            EXPECT_LE(found.seconds, soon_s);
        }
        EXPECT_EQ(fake.n_live(), 0);
    });
    EXPECT_EQ(fake.n_call("abort"), n_rank == 1 ? 0 : n_rank);
}

struct Asynchronous {
    const char* name;
    int operation;
    bool is_death, is_heard;
    const char* words_of_others;
};

class NcclAsynchronousErrors : public NcclFaultsOfOneRank,
                               public testing::WithParamInterface<Asynchronous> {};

TEST_P(NcclAsynchronousErrors, BreakEveryRankSoon) {
    const Asynchronous& fault = GetParam();
    for_each_culprit([&](int culprit) {
        NcclFaults faults;
        (fault.is_death ? faults.dying_operation : faults.failing_operation) = fault.operation;
        faults.is_death_heard = fault.is_heard;
        set(rank == culprit, faults);
        // A rank that receives the error needs no time limit.
        const bool is_told = rank == culprit || fault.is_heard;
        make(is_told ? 0 : timeout_s);
        DeviceNumbers<float> numbers(device, {1.0F}, stream);
        const Ended found = reduce_and_wait(numbers);
        EXPECT_EQ(found.status, Status::device) << found;
        EXPECT_TRUE(found.text.starts_with(rank_text(rank))) << found;
        EXPECT_LE(found.seconds, soon_s);
        if (rank == culprit) {
            EXPECT_TRUE(
                found.says(fault.is_death ? "unhandled system error" : "unhandled cuda error"))
                << found;
            EXPECT_TRUE(found.says("words of the fake")) << found;
        } else {
            EXPECT_TRUE(found.says(fault.words_of_others)) << found;
        }
        expect_broken(numbers, found);
    });
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, NcclAsynchronousErrors,
    testing::Values(Asynchronous{"OfTheFirstOperation", 0, false, false, "has not ended within"},
                    Asynchronous{"OfALaterOperation", 2, false, false, "has not ended within"},
                    Asynchronous{"OfALostRankHeard", 1, true, true, "remote process exited"},
                    Asynchronous{"OfALostRankUnheard", 1, true, false, "has not ended within"}),
    [](const auto& fault) { return std::string(fault.param.name); });

TEST_F(NcclFaultsOfOneRank, InEnqueueingBreaksItAtOnceAndOthersByTheLimit) {
    for (const int call : {0, 2}) {
        for_each_culprit([&](int culprit) {
            make();
            NcclFaults faults;
            faults.failing_enqueue = fake.n_call("all_reduce") + call;
            set(rank == culprit, faults);
            DeviceNumbers<float> numbers(device, {1.0F}, stream);
            const Ended found = reduce_and_wait(numbers);
            EXPECT_EQ(found.status, Status::device) << found;
            EXPECT_LE(found.seconds, soon_s);
            EXPECT_TRUE(found.says(rank == culprit ? "ncclAllReduce failed: unhandled system error"
                                                   : "has not ended within"))
                << found;
            expect_broken(numbers, found);
        });
    }
}

TEST_F(NcclFaultsOfOneRank, InExchangesBreakThemAsTheyBreakReductions) {
    NcclFaults refused, asynchronous, lost;
    asynchronous.failing_operation = 1;
    lost.dying_operation = 1;
    lost.is_death_heard = true;
    for (NcclFaults faults : {refused, asynchronous, lost}) {
        const bool is_refused = faults.failing_operation < 0 && faults.dying_operation < 0;
        for_each_culprit([&](int culprit) {
            make();
            if (is_refused) faults.failing_enqueue = fake.n_call("group") + 1;
            set(rank == culprit, faults);
            DeviceNumbers<float> numbers(device, room_to_exchange(), stream);
            const Ended found = ended([&] {
                for (int i = 0; i < 4; ++i) exchange(numbers, stream);
                collectives->wait(stream);
            });
            EXPECT_EQ(found.status, Status::device) << found;
            EXPECT_LE(found.seconds, soon_s);
            EXPECT_TRUE(found.says(rank != culprit ? faults.is_death_heard ? "remote process exited"
                                                                           : "has not ended within"
                                   : is_refused    ? "a group of ncclSend and ncclRecv failed"
                                                   : "unhandled"))
                << found;
            expect_broken(numbers, found);
        });
    }
}

TEST_F(NcclFaultsOfOneRank, InWorkOfItsStreamAbortsNccl) {
    for_each_culprit([&](int culprit) {
        CurrentDevice mine(properties(rank + 1));
        const kernels::Stream own = mine.create_stream();
        fake.require_current([&] { return mine.is_current(); });
        collectives = impl::make_device_collectives(*comm, mine, &fake.api(), "", timeout_s);
        {
            DeviceNumbers<float> numbers(mine, {1.0F}, own);
            if (rank == culprit)
                mine.enqueue(own, [] { throw std::runtime_error("an illegal address"); });
            collectives->all_reduce_sum(numbers.data(), 1, own);
            const Ended found = ended([&] { collectives->wait(own); });
            EXPECT_EQ(found.status, Status::device) << found;
            EXPECT_TRUE(found.says(rank == culprit ? "an illegal address" : "has not ended"))
                << found;
            EXPECT_EQ(ended([&] { collectives->check(); }).status, Status::broken);
            EXPECT_EQ(fake.n_live(), 0);
            collectives.reset();
        }
        mine.destroy_stream(own);
        fake.require_current([this] { return device.is_current(); });
    });
}

struct Start {
    const char* name;
    NcclFaults faults;
    const char* words;  // of the culprit, which all ranks hear
};

class NcclStart : public NcclFaultsOfOneRank, public testing::WithParamInterface<Start> {};

TEST_P(NcclStart, FailingOnOneRankIsToldToAllInItsWords) {
    for_each_culprit([&](int culprit) {
        set(rank == culprit, GetParam().faults);
        const Ended found = ended([&] { make(); });
        EXPECT_EQ(found.status, Status::device) << found;
        EXPECT_TRUE(found.text.starts_with(rank_text(culprit))) << found;
        EXPECT_TRUE(found.says(GetParam().words)) << found;
        EXPECT_LE(found.seconds, soon_s);
        EXPECT_FALSE(collectives);
        EXPECT_EQ(fake.n_live(), 0);
    });
}

NcclFaults with(NcclResult NcclFaults::*call) {
    NcclFaults faults;
    faults.*call = NcclResult::unhandled_cuda_error;
    return faults;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, NcclStart,
    testing::Values(Start{"AtOnce", with(&NcclFaults::init),
                          "ncclCommInitRankConfig failed: unhandled cuda error"},
                    Start{"AfterMeeting", with(&NcclFaults::late_init),
                          "ncclCommInitRankConfig failed: unhandled cuda error"}),
    [](const auto& start) { return std::string(start.param.name); });

/// Chooses and starts while the n-th allocation fails on the culprit; whether there were so many.
class NoMemory : public NcclFaultsOfOneRank, public testing::WithParamInterface<const char*> {
protected:
    bool has_failed_at(int culprit, int64_t n) {
        const impl::NcclApi* nccl = GetParam() == std::string("NCCL") ? &fake.api() : nullptr;
        if (rank == culprit) fail_allocation(n);
        const Ended found = ended([&] {
            collectives = impl::make_device_collectives(*comm, device, nccl, "", timeout_s);
        });
        int has_failed = rank == culprit && end_failing_allocation();
        MPI_Bcast(&has_failed, 1, MPI_INT, culprit, MPI_COMM_WORLD);
        EXPECT_EQ(found.status, has_failed ? Status::no_memory : Status::success) << n << found;
        EXPECT_TRUE(!has_failed || found.text.starts_with(rank_text(culprit))) << n << found;
        EXPECT_EQ(collectives == nullptr, has_failed == 1);
        EXPECT_LE(found.seconds, soon_s);
        collectives.reset();
        EXPECT_EQ(fake.n_live(), 0);
        return has_failed;
    }
};

TEST_P(NoMemory, ToChooseAndStartIsToldToAll) {
    for_each_culprit([&](int culprit) {
        int64_t n = 1;
        while (n < 100 && has_failed_at(culprit, n)) ++n;
        EXPECT_GT(n, 3);
        EXPECT_LT(n, 100);
    });
}

INSTANTIATE_TEST_SUITE_P(Kinds, NoMemory, testing::Values("NCCL", "staged"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_F(NcclFaultsOfOneRank, WithoutAnIdIsToldToAll) {
    set(rank == 0, with(&NcclFaults::unique_id));
    const Ended found = ended([&] { make(); });
    EXPECT_EQ(found.status, Status::device) << found;
    EXPECT_TRUE(found.text.starts_with("rank 0: ncclGetUniqueId failed")) << found;
    EXPECT_EQ(fake.n_call("init"), 0);
    expect_ranks_to_talk();
}

TEST_F(NcclFaultsOfOneRank, MissingAtTheStartEndsByTheLimit) {
    for_each_culprit([&](int culprit) {
        NcclFaults faults;
        faults.is_missing_at_init = true;
        set(rank == culprit, faults);
        const Ended found = ended([&] { make(); });
        EXPECT_EQ(found.status, Status::device) << found;
        EXPECT_TRUE(found.says("ncclCommInitRankConfig has not ended within 0.25 s")) << found;
        EXPECT_LE(found.seconds, soon_s);
        EXPECT_EQ(fake.n_live(), 0);
    });
}

TEST_F(NcclFaultsOfOneRank, DoNotKeepDestructorsWaiting) {
    for_each_culprit([&](int culprit) {
        const int n_abort = fake.n_call("abort");
        make();
        DeviceNumbers<float> numbers(device, {1.0F}, stream);
        if (rank != culprit) reduce(numbers);
        const Ended found = ended([&] { collectives.reset(); });
        EXPECT_EQ(found.status, Status::success);
        EXPECT_LE(found.seconds, soon_s);
        EXPECT_EQ(fake.n_call("abort"), n_abort + (rank == culprit ? 0 : 1));
        device.synchronize(stream);
        MPI_Barrier(MPI_COMM_WORLD);
    });
}

/// ncclCommAbort waits for graphs. Ours are released before; one that is not costs 5 s and no more.
TEST_F(NcclFaultsOfOneRank, ReturnThoughAGraphKeepsNcclFromAborting) {
    make();
    DeviceNumbers<float> numbers(device, {1.0F}, stream);
    device.begin_capture(stream);
    EXPECT_EQ(reduce(numbers).status, Status::success);
    const kernels::Graph graph = device.end_capture(stream);
    if (rank != 0) {
        const Ended found = reduce_and_wait(numbers);
        EXPECT_EQ(found.status, Status::device) << found;
        EXPECT_TRUE(found.says("has not ended within 0.25 s")) << found;
        EXPECT_LE(found.seconds, 2 * soon_s) << "it waited for the graph";
        EXPECT_EQ(fake.n_live(), 1) << "NCCL did not wait for the graph";
        expect_broken(numbers, found);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    device.destroy_graph(graph);
    collectives.reset();
    while (fake.n_live() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    expect_ranks_to_talk();
}

TEST_F(NcclFaultsOfOneRank, ReleaseGraphsBeforeNcclIsAborted) {
    for_each_culprit([&](int culprit) {
        make();
        DeviceNumbers<float> numbers(device, {1.0F}, stream);
        device.begin_capture(stream);
        EXPECT_EQ(reduce(numbers).status, Status::success);
        kernels::Graph graph = device.end_capture(stream);
        collectives->before_abort([&] {
            if (graph) device.destroy_graph(std::exchange(graph, nullptr));
        });
        if (rank != culprit) {
            EXPECT_EQ(reduce_and_wait(numbers).status, Status::device);
            EXPECT_EQ(graph, nullptr);
            EXPECT_EQ(fake.n_live(), 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (graph) device.destroy_graph(graph);
    });
}

TEST_F(NcclFaultsOfOneRank, WithoutAnEndOfFinalizeIsAborted) {
    for_each_culprit([&](int culprit) {
        const int n_abort = fake.n_call("abort");
        NcclFaults faults;
        faults.never_finalizes = true;
        set(rank == culprit, faults);
        make();
        const Ended found = ended([&] { collectives.reset(); });
        EXPECT_LE(found.seconds, soon_s);
        EXPECT_EQ(fake.n_call("abort"), n_abort + (rank == culprit ? 1 : 0));
    });
}

TEST_F(NcclFaultsOfOneRank, IsSeenByCheckWithoutWaiting) {
    for_each_culprit([&](int culprit) {
        NcclFaults faults;
        faults.failing_operation = 0;
        set(rank == culprit, faults);
        make();
        DeviceNumbers<float> numbers(device, {1.0F}, stream);
        collectives->check();
        EXPECT_EQ(reduce(numbers).status, Status::success);
        Ended found;
        if (rank == culprit) {
            while (found.status == Status::success && found.seconds < soon_s)
                found = ended([&] { collectives->check(); });
        } else {
            found = wait();
        }
        EXPECT_EQ(found.status, Status::device) << found;
        expect_broken(numbers, found);
    });
}

/// MPI behind: one device for all ranks.
class StagedFaultsOfOneRank : public NcclFaultsOfOneRank {
protected:
    using Operation = std::function<void(DeviceNumbers<float>& numbers, kernels::Stream)>;

    /// One operation on a device of this case, with the n-th call failing on the culprit; whether
    /// there were so many calls.
    bool run_with_failure(int culprit, int64_t n, Status status, const Operation& operation) {
        CurrentDevice mine(properties(0));
        const kernels::Stream own = mine.create_stream();
        collectives = impl::make_device_collectives(*comm, mine, nullptr, "", timeout_s);
        collectives->reserve_exchange(64, 64);
        int n_failed = 0, all_failed = 0;
        {
            DeviceNumbers<float> numbers(mine, room_to_exchange(), own);
            if (rank == culprit) mine.fail_at(n, status);
            // A failure while results are copied back to the device is reported with the next
            // reduction, the last one at the latest.
            Status first = Status::success, last = Status::success;
            for (int i = 0; i < 3; ++i) {
                if (i == 2 && rank == culprit) mine.fail_at(0, status);
                last = ended([&] { operation(numbers, own); }).status;
                if (first == Status::success) first = last;
            }
            n_failed = last != Status::success;
            if (n_failed) {
                EXPECT_EQ(first, rank == culprit ? status : Status::device);
                EXPECT_EQ(ended([&] { collectives->check(); }).status, Status::broken);
            }
            MPI_Allreduce(&n_failed, &all_failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            EXPECT_TRUE(all_failed == 0 || all_failed == n_rank) << all_failed;
            collectives.reset();
        }
        mine.destroy_stream(own);
        EXPECT_EQ(mine.counts().pinned_allocations, 0);
        EXPECT_EQ(mine.counts().events, 0);
        EXPECT_EQ(mine.counts().streams, 0);
        return all_failed > 0;
    }
};

TEST_F(StagedFaultsOfOneRank, OfItsDeviceBreakTheSameOperationsOnAllRanks) {
    const Operation reduction = [&](DeviceNumbers<float>& numbers, kernels::Stream own) {
        collectives->all_reduce_sum(numbers.data(), 1, own);
    };
    const Operation exchanging = [&](DeviceNumbers<float>& numbers, kernels::Stream own) {
        exchange(numbers, own);
    };
    for (const Operation& operation : {reduction, exchanging}) {
        for (const Status status : {Status::device, Status::no_memory}) {
            for_each_culprit([&](int culprit) {
                int64_t n = 1;
                while (n < 100 && run_with_failure(culprit, n, status, operation)) ++n;
                EXPECT_GE(n, 6);  // copies, events and questions of two operations
                EXPECT_LT(n, 100);
            });
        }
    }
}

TEST_F(StagedFaultsOfOneRank, NoRoomForAnExchangeIsToldToTheOthers) {
    for_each_culprit([&](int culprit) {
        collectives = impl::make_device_collectives(*comm, device, nullptr, "", timeout_s);
        if (rank != culprit) collectives->reserve_exchange(64, 64);
        DeviceNumbers<float> numbers(device, room_to_exchange(), stream);
        const Ended found = ended([&] { exchange(numbers, stream); });
        EXPECT_EQ(found.status, rank == culprit ? Status::internal : Status::device) << found;
        EXPECT_LE(found.seconds, soon_s);
    });
}

TEST_F(StagedFaultsOfOneRank, ReservedTooLittleIsTheSameForAll) {
    collectives = impl::make_device_collectives(*comm, device, nullptr, "", timeout_s);
    collectives->reserve(8);
    DeviceNumbers<float> numbers(device, {1.0F, 2.0F, 3.0F}, stream);
    EXPECT_EQ(reduce(numbers).status, Status::internal);
    collectives->reserve(12);
    EXPECT_EQ(reduce(numbers).status, Status::success);
}

TEST_F(StagedFaultsOfOneRank, WorkWithoutAnEndIsLeftAfterTheLimit) {
    collectives = impl::make_device_collectives(*comm, device, nullptr, "", timeout_s);
    collectives->reserve(64);
    std::atomic<bool> is_open = false;
    DeviceNumbers<float> numbers(device, {1.0F}, stream);
    if (rank == 0) {
        enqueue([&] {
            while (!is_open) std::this_thread::yield();
        });
    }
    const Ended found = reduce(numbers);
    EXPECT_EQ(found.status, Status::device) << found;
    EXPECT_TRUE(found.says(rank == 0 ? "has not ended within 0.25 s" : "another rank")) << found;
    EXPECT_LE(found.seconds, soon_s);
    is_open = true;
    device.synchronize(stream);
    expect_ranks_to_talk();
}

}  // namespace
}  // namespace surrogate::test
