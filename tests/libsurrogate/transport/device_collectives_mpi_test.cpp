// SPDX-License-Identifier: Apache-2.0
// Reductions between devices that work: by NCCL, through MPI, or on one rank; and which of them is
// chosen, with what reason.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "libsurrogate/src/transport/device_transports.hpp"
#include "tests/libsurrogate/transport/device_collectives_case.hpp"
#include "tests/libsurrogate/transport/nccl_ranks_case.hpp"

namespace surrogate::test {
namespace {

// Sizes around nothing, a warp, a page, and what no single message of the fake carries.
constexpr int64_t sizes[] = {0, 1, 3, 31, 33, 1023, 4097, 100003};

float value(int rank, int64_t i) {
    return std::sin(static_cast<float>(i) + 0.37F * static_cast<float>(rank));
}

std::vector<float> values_of(int rank, int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = value(rank, i);
    return values;
}

/// Large enough that a detour through double would show.
int64_t integer(int rank, int64_t i) {
    return (int64_t{1} << 58) / (rank + 3) + i * 1000003 - rank;
}

class Transports : public DeviceCollectivesTest, public testing::WithParamInterface<const char*> {
protected:
    /// NCCL, or one device for all so that it is MPI. One rank has neither.
    void make_transport() {
        if (GetParam() == std::string("staged")) {
            device.destroy_stream(stream);
            device = CurrentDevice(properties(0));
            stream = device.create_stream();
        }
        make();
        EXPECT_EQ(collectives->transport(), n_rank == 1                         ? "none"
                                            : GetParam() == std::string("NCCL") ? "NCCL 2.27.3"
                                                                                : "MPI, staged");
        EXPECT_EQ(collectives->is_enqueued(), n_rank == 1 || GetParam() == std::string("NCCL"));
    }
};

TEST_P(Transports, SumFloats) {
    make_transport();
    for (const int64_t count : sizes) {
        SCOPED_TRACE(count);
        DeviceNumbers<float> numbers(device, values_of(rank, count), stream);
        collectives->all_reduce_sum(numbers.data(), count, stream);
        collectives->wait(stream);
        const std::vector<float> found = numbers.get(stream);
        for (int64_t i = 0; i < count; ++i) {
            double sum = 0;
            for (int r = 0; r < n_rank; ++r) sum += double{value(r, i)};
            ASSERT_LE(std::abs(found[static_cast<size_t>(i)] - sum), 3e-7 * n_rank) << i;
        }
    }
}

TEST_P(Transports, FindMaximaWithMinusInfinityAmongThem) {
    make_transport();
    for (const int64_t count : sizes) {
        SCOPED_TRACE(count);
        std::vector<float> own = values_of(rank, count);
        if (rank > 0) std::fill(own.begin(), own.end(), -std::numeric_limits<float>::infinity());
        DeviceNumbers<float> numbers(device, own, stream);
        collectives->all_reduce_max(numbers.data(), count, stream);
        collectives->wait(stream);
        EXPECT_EQ(numbers.get(stream), values_of(0, count));
    }
}

TEST_P(Transports, SumIntegersExactly) {
    make_transport();
    for (const int64_t count : sizes) {
        SCOPED_TRACE(count);
        std::vector<int64_t> own(static_cast<size_t>(count)), sums(own);
        for (int64_t i = 0; i < count; ++i) {
            own[static_cast<size_t>(i)] = integer(rank, i);
            for (int r = 0; r < n_rank; ++r) sums[static_cast<size_t>(i)] += integer(r, i);
        }
        DeviceNumbers<int64_t> numbers(device, own, stream);
        collectives->all_reduce_sum(numbers.data(), count, stream);
        collectives->wait(stream);
        EXPECT_EQ(numbers.get(stream), sums);
    }
}

TEST_P(Transports, KeepNanInSums) {
    make_transport();
    DeviceNumbers<float> numbers(device, {rank == n_rank - 1 ? NAN : 1.0F, 1.0F}, stream);
    collectives->all_reduce_sum(numbers.data(), 2, stream);
    collectives->wait(stream);
    const std::vector<float> found = numbers.get(stream);
    EXPECT_TRUE(std::isnan(found[0]));
    EXPECT_EQ(found[1], static_cast<float>(n_rank));
}

TEST_P(Transports, GatherTheParts) {
    make_transport();
    collectives->reserve_gather(4 * sizes[std::size(sizes) - 1]);
    for (const int64_t count : sizes) {
        SCOPED_TRACE(count);
        std::vector<float> given(static_cast<size_t>(n_rank * count), -1), all;
        const std::vector<float> own = values_of(rank, count);
        std::copy(own.begin(), own.end(), given.begin() + rank * count);
        for (int r = 0; r < n_rank; ++r) {
            const std::vector<float> part = values_of(r, count);
            all.insert(all.end(), part.begin(), part.end());
        }
        DeviceNumbers<float> numbers(device, given, stream);
        collectives->all_gather(numbers.data(), 4 * count, stream);
        collectives->wait(stream);
        EXPECT_EQ(numbers.get(stream), all);
    }
}

/// Parts of every size, to some ranks none, and on some ranks none at all.
int64_t part_bytes(int from, int to, int64_t count) {
    if (from == to || (from + 2 * to) % 4 == 3) return 0;
    return count / (1 + from) + to;
}

TEST_P(Transports, ExchangeParts) {
    make_transport();
    for (const int64_t count : sizes) {
        SCOPED_TRACE(count);
        std::vector<int64_t> to_each, from_each;
        std::vector<signed char> given, expected;
        const auto append = [](std::vector<signed char>& bytes, int from, int to, int64_t n) {
            for (int64_t i = 0; i < n; ++i)
                bytes.push_back(static_cast<signed char>(i * 7 + 31 * from + 17 * to));
        };
        for (int r = 0; r < n_rank; ++r) {
            to_each.push_back(part_bytes(rank, r, count));
            from_each.push_back(part_bytes(r, rank, count));
            append(given, rank, r, to_each.back());
            append(expected, r, rank, from_each.back());
        }
        DeviceNumbers<signed char> to(device, given, stream);
        DeviceNumbers<signed char> from(device, std::vector<signed char>(expected.size(), 99),
                                        stream);
        collectives->reserve_exchange(to.count(), from.count());
        for (int i = 0; i < 3; ++i)
            collectives->exchange({to.data(), to_each}, {from.data(), from_each}, stream);
        collectives->wait(stream);
        EXPECT_EQ(from.get(stream), expected);
        EXPECT_EQ(to.get(stream), given);
    }
}

TEST_P(Transports, FollowTheOrderOfTheStream) {
    make_transport();
    DeviceNumbers<float> numbers(device, {1.0F}, stream);
    float expected = 1;
    for (int step = 0; step < 20; ++step) {
        enqueue([x = numbers.data()] { *x += 1; });
        collectives->all_reduce_sum(numbers.data(), 1, stream);
        enqueue([x = numbers.data()] { *x *= 0.5F; });
        expected = 0.5F * static_cast<float>(n_rank) * (expected + 1);
    }
    collectives->wait(stream);
    EXPECT_EQ(numbers.get(stream), std::vector{expected});
}

TEST_P(Transports, ServeSeveralStreamsInTurn) {
    make_transport();
    const kernels::Stream other = device.create_stream();
    const kernels::Event done = device.create_event();
    {
        DeviceNumbers<float> a(device, {1.0F}, stream), b(device, {2.0F}, stream);
        for (int step = 0; step < 5; ++step) {
            collectives->all_reduce_sum(a.data(), 1, stream);
            device.record(done, stream);
            device.wait(other, done);
            collectives->all_reduce_sum(b.data(), 1, other);
            device.record(done, other);
            device.wait(stream, done);
        }
        collectives->wait(stream);
        collectives->wait(other);
        const auto n = static_cast<float>(std::pow(n_rank, 5));
        EXPECT_EQ(a.get(stream), std::vector{n});
        EXPECT_EQ(b.get(other), std::vector{2 * n});
    }
    device.destroy_event(done);
    device.destroy_stream(other);
}

TEST_P(Transports, CountBytesAndCallsOnce) {
    make_transport();
    DeviceNumbers<float> numbers(device, values_of(rank, 100), stream);
    DeviceNumbers<int64_t> integers(device, std::vector<int64_t>(50), stream);
    comm->reset_counters();
    collectives->reset_counters();
    collectives->all_reduce_sum(numbers.data(), 100, stream);
    collectives->all_reduce_max(numbers.data(), 10, stream);
    collectives->all_reduce_sum(integers.data(), 50, stream);
    collectives->wait(stream);
    const bool is_staged = collectives->transport() == "MPI, staged";
    const int64_t flags = is_staged ? 4 + 4 + 8 : 0;
    EXPECT_EQ(comm->bytes_sent() + collectives->bytes_sent(), 400 + 40 + 400 + flags);
    EXPECT_EQ(comm->n_collective() + collectives->n_collective(), 3);
    EXPECT_EQ(comm->n_collective(), is_staged ? 3 : 0);
    collectives->count_launch(840, 3);
    EXPECT_EQ(comm->n_collective() + collectives->n_collective(), 6);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Transports, testing::Values("NCCL", "staged"),
                         [](const auto& kind) { return std::string(kind.param); });

class Nccl : public DeviceCollectivesTest {};

TEST_F(Nccl, ReturnsBeforeTheStreamComesToIt) {
    make();
    std::atomic<bool> is_open = false;
    DeviceNumbers<float> numbers(device, {1.0F}, stream);
    enqueue([&] {
        while (!is_open) std::this_thread::yield();
    });
    collectives->all_reduce_sum(numbers.data(), 1, stream);
    EXPECT_FALSE(device.is_done(stream));
    is_open = true;
    collectives->wait(stream);
    EXPECT_EQ(numbers.get(stream), std::vector{static_cast<float>(n_rank)});
}

TEST_F(Nccl, IsRecordedInGraphs) {
    make();
    DeviceNumbers<float> numbers(device, {1.0F}, stream);
    device.begin_capture(stream);
    enqueue([x = numbers.data()] { *x += 1; });
    collectives->all_reduce_sum(numbers.data(), 1, stream);
    const kernels::Graph graph = device.end_capture(stream);
    EXPECT_EQ(numbers.get(stream), std::vector{1.0F});
    float expected = 1;
    for (int launch = 0; launch < 3; ++launch) {
        collectives->check();
        device.launch(graph, stream);
        expected = static_cast<float>(n_rank) * (expected + 1);
    }
    collectives->wait(stream);
    EXPECT_EQ(numbers.get(stream), std::vector{expected});
    device.destroy_graph(graph);
}

/// Around the ring of ranks: what comes from the rank before goes on to the next.
TEST_F(Nccl, RecordsExchangesInGraphs) {
    make();
    const int next = (rank + 1) % n_rank, previous = (rank + n_rank - 1) % n_rank;
    std::vector<int64_t> to_each(static_cast<size_t>(n_rank)), from_each(to_each);
    if (n_rank > 1) {
        to_each[static_cast<size_t>(next)] = sizeof(float);
        from_each[static_cast<size_t>(previous)] = sizeof(float);
    }
    const auto own = static_cast<float>(rank);
    DeviceNumbers<float> to(device, {own}, stream), from(device, {own}, stream);
    device.begin_capture(stream);
    collectives->exchange({to.data(), to_each}, {from.data(), from_each}, stream);
    enqueue([x = to.data(), y = from.data()] { *x = *y + 10; });
    const kernels::Graph graph = device.end_capture(stream);
    float expected = own;
    for (int launch = 1; launch <= 4; ++launch) {
        collectives->check();
        device.launch(graph, stream);
        // Everything moves by one, and each launch adds 10.
        const int origin = ((rank - launch) % n_rank + n_rank) % n_rank;
        expected = static_cast<float>(origin) + (n_rank > 1 ? 10.0F : 0.0F) * (launch - 1);
        collectives->wait(stream);
        EXPECT_EQ(from.get(stream), std::vector{expected}) << launch;
    }
    device.destroy_graph(graph);
}

TEST_F(Nccl, IsAskedAgainWhileACallIsInProgress) {
    NcclFaults faults;
    faults.polls_of_enqueue = 7;
    fake.set(faults);
    make();
    DeviceNumbers<float> numbers(device, {1.0F}, stream);
    for (int i = 0; i < 3; ++i) collectives->all_reduce_sum(numbers.data(), 1, stream);
    collectives->wait(stream);
    EXPECT_EQ(numbers.get(stream), std::vector{static_cast<float>(n_rank * n_rank * n_rank)});
}

TEST_F(Nccl, IsDestroyedNotAbortedWhenAllIsWell) {
    make(0);
    collectives.reset();
    EXPECT_EQ(fake.n_call("init"), n_rank == 1 ? 0 : 1);
    EXPECT_EQ(fake.n_call("destroy"), fake.n_call("init"));
    EXPECT_EQ(fake.n_call("abort"), 0);
}

class Choice : public DeviceCollectivesTest {};

TEST_F(Choice, IsNcclForDevicesOfTheirOwn) {
    make();
    EXPECT_EQ(collectives->transport(), n_rank == 1 ? "none" : "NCCL 2.27.3");
    EXPECT_EQ(collectives->reason(),
              n_rank == 1 ? "one rank" : "every rank has a device of its own");
}

TEST_F(Choice, IsMpiIfRanksShareADevice) {
    if (n_rank == 1) GTEST_SKIP() << "ranks that differ: needs two";
    CurrentDevice shared(properties(rank == n_rank - 1 ? 0 : rank == 0 ? 0 : 1));
    collectives = impl::make_device_collectives(*comm, shared, &fake.api(), "", timeout_s);
    EXPECT_EQ(collectives->transport(), "MPI, staged");
    EXPECT_EQ(collectives->reason(), "ranks 0, " + std::to_string(n_rank - 1) + " share a device");
    EXPECT_EQ(fake.n_call("init"), 0);
    collectives.reset();
}

TEST_F(Choice, IsMpiIfARankLacksTheLibrary) {
    if (n_rank == 1) GTEST_SKIP() << "ranks that differ: needs two";
    for (int lacking = 0; lacking < n_rank; ++lacking) {
        const bool is_lacking = rank == lacking;
        collectives =
            impl::make_device_collectives(*comm, device, is_lacking ? nullptr : &fake.api(),
                                          is_lacking ? "no such file" : "", timeout_s);
        EXPECT_EQ(collectives->transport(), "MPI, staged");
        const std::string name = "rank " + std::to_string(lacking);
        EXPECT_EQ(collectives->reason(), name + " without NCCL (" + name + ": no such file)");
    }
    collectives = impl::make_device_collectives(*comm, device, nullptr, "not wanted", timeout_s);
    EXPECT_EQ(collectives->reason(), std::string(n_rank == 2 ? "ranks 0, 1" : "ranks 0, 1, 2") +
                                         " without NCCL (rank 0: not wanted)");
    EXPECT_EQ(fake.n_call("init"), 0);
}

TEST_F(Choice, IsMpiIfTheEnvironmentMakesNcclBlock) {
    if (n_rank == 1) GTEST_SKIP() << "one rank chooses nothing: needs two";
    for (const char* value : {"1", "0"}) {
        if (rank == n_rank - 1) setenv("NCCL_COMM_BLOCKING", value, 1);
        collectives = impl::make_device_collectives(*comm, device, &fake.api(), "", timeout_s);
        unsetenv("NCCL_COMM_BLOCKING");
        const bool is_blocking = value == std::string("1");
        EXPECT_EQ(collectives->transport(), is_blocking ? "MPI, staged" : "NCCL 2.27.3");
        if (is_blocking) {
            EXPECT_EQ(collectives->reason(),
                      "rank " + std::to_string(n_rank - 1) + " without NCCL (rank " +
                          std::to_string(n_rank - 1) +
                          ": NCCL_COMM_BLOCKING=1 takes the time limit from calls of NCCL; unset "
                          "it)");
        }
        EXPECT_EQ(fake.n_call("init"), is_blocking ? 0 : 1);
        collectives.reset();
    }
}

TEST_F(Choice, IsMpiIfAVersionIsTooOldOrAnother) {
    if (n_rank == 1) GTEST_SKIP() << "ranks that differ: needs two";
    NcclFaults faults;
    faults.version = rank == 1 ? 21805 : 22703;
    fake.set(faults);
    make();
    EXPECT_EQ(collectives->reason(),
              "rank 1 without NCCL (rank 1: NCCL 2.18.5 is older than 2.19.0)");
    faults.version = rank == 1 ? 22809 : 22703;
    fake.set(faults);
    make();
    EXPECT_EQ(collectives->reason(), "versions of NCCL differ (rank 0: 2.27.3, rank 1: 2.28.9)");
    EXPECT_EQ(collectives->transport(), "MPI, staged");
    EXPECT_EQ(fake.n_call("init"), 0);
}

// Without a driver the real NCCL fails at its own first call of CUDA, after it has checked our
// arguments.
/// The test of several real devices (nccl_device_test.cpp) on emulated ones.
TEST(NcclBetweenDevices, IsTestedByTheEmulation) {
    if (size_of(MPI_COMM_WORLD) > 1) GTEST_SKIP() << "ranks are threads";
    FakeNccl fake;
    const OpenDevice open = [](int rank) {
        auto properties = EmulatedDevice::default_properties();
        properties.uuid[0] = static_cast<uint8_t>(rank);
        return std::make_unique<EmulatedDevice>(properties);
    };
    expect_operations_between_devices(3, open, fake.api());
    expect_limit_with_graphs(3, open, fake.api());
    EXPECT_EQ(fake.misuse(), "");
    EXPECT_EQ(fake.n_live(), 0);
}

TEST(NcclLoader, FindsANcclThatUnderstandsUs) {
    std::string problem;
    const impl::NcclApi* api = impl::load_nccl(problem);
    if (!api) GTEST_SKIP() << "no NCCL here: " << problem;
    EmulatedDevice device;
    const auto comm = impl::self_communicator();
    const Ended found =
        ended([&] { impl::make_nccl_collectives(*comm, device, *api, "a test", 30); });
    EXPECT_TRUE(found.status == Status::success || found.says("unhandled cuda error")) << found;
}

TEST(NcclLoader, GivesFunctionsOrTheLoadersWords) {
    std::string problem;
    const impl::NcclApi* api = impl::load_nccl(problem);
    if (api) {
        EXPECT_EQ(problem, "");
        EXPECT_GE(impl::nccl_version(*api, problem), impl::nccl_oldest_version) << problem;
    } else {
        EXPECT_NE(problem.find("libnccl.so.2"), std::string::npos) << problem;
    }
    std::string again;
    EXPECT_EQ(impl::load_nccl(again), api);
    EXPECT_EQ(again, problem);
}

}  // namespace
}  // namespace surrogate::test
