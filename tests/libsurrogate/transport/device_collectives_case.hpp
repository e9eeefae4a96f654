// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libsurrogate/src/device/device_collectives.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/emulation/emulated_device.hpp"
#include "tests/support/fake_nccl.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {

using impl::NcclResult;
using kernels::Status;

/// An emulated device that knows in which calls it is the calling thread's current one.
class CurrentDevice final : public EmulatedDevice {
public:
    using EmulatedDevice::EmulatedDevice;
    void call_as_current(void (*work)(void*), void* context) override {
        const CurrentDevice* const before = std::exchange(current_, this);
        work(context);
        current_ = before;
    }
    bool is_current() const { return current_ == this; }

private:
    static inline thread_local const CurrentDevice* current_ = nullptr;
};

/// Numbers in device memory, copied in stream order.
template <class T>
class DeviceNumbers {
public:
    DeviceNumbers(EmulatedDevice& device, const std::vector<T>& values, kernels::Stream stream)
        : device_(device),
          count_(std::ssize(values)),
          pinned_(static_cast<T*>(device.allocate_pinned(n_byte()))),
          data_(static_cast<T*>(device.allocate(n_byte()))) {
        put(values, stream);
    }
    ~DeviceNumbers() {
        device_.release(data_);
        device_.release_pinned(pinned_);
    }
    DeviceNumbers(const DeviceNumbers&) = delete;
    DeviceNumbers& operator=(const DeviceNumbers&) = delete;

    T* data() const { return data_; }
    int64_t count() const { return count_; }
    void put(const std::vector<T>& values, kernels::Stream stream) {
        std::copy(values.begin(), values.end(), pinned_);
        device_.copy(data_, pinned_, n_byte(), stream);
        device_.synchronize(stream);
    }
    /// After what the stream was given; the stream comes to its end.
    std::vector<T> get(kernels::Stream stream) const {
        device_.copy(pinned_, data_, n_byte(), stream);
        device_.synchronize(stream);
        return {pinned_, pinned_ + count_};
    }

private:
    int64_t n_byte() const { return std::max<int64_t>(count_, 1) * int64_t{sizeof(T)}; }
    EmulatedDevice& device_;
    int64_t count_;
    T *pinned_, *data_;
};

/// Result of a call: its status, and the text if it threw.
struct Ended {
    Status status = Status::success;
    std::string text;
    double seconds = 0;

    bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};

inline std::ostream& operator<<(std::ostream& stream, const Ended& ended) {
    return stream << "status " << static_cast<int>(ended.status) << " after " << ended.seconds
                  << " s: " << ended.text;
}

template <class Call>
Ended ended(const Call& call) {
    Ended found;
    const auto start = std::chrono::steady_clock::now();
    try {
        call();
    } catch (const kernels::Error& error) {
        found.status = error.status();
        found.text = error.what();
    }
    found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return found;
}

/// The ranks with a device each, a fake NCCL, and what a plan would do with them.
class DeviceCollectivesTest : public testing::Test {
protected:
    static constexpr double timeout_s = 0.25;
    static constexpr double soon_s = 5;  ///< no failure may take longer than this

    DeviceCollectivesTest() {
        fake.require_current([this] { return device.is_current(); });
        stream = device.create_stream();
    }
    ~DeviceCollectivesTest() override {
        collectives.reset();
        device.destroy_stream(stream);
        EXPECT_EQ(fake.n_live(), 0);
        EXPECT_EQ(fake.misuse(), "");
        EXPECT_EQ(device.counts().n_wrong, 0);
        EXPECT_EQ(device.counts().pinned_allocations, 0);
        EXPECT_EQ(device.counts().events, 0);
        EXPECT_EQ(device.counts().streams, 0);
    }

    static kernels::DeviceProperties properties(int uuid) {
        auto found = EmulatedDevice::default_properties();
        found.uuid = {};
        found.uuid[3] = static_cast<uint8_t>(uuid);
        return found;
    }

    void make(double limit_s = timeout_s) {
        collectives = impl::make_device_collectives(*comm, device, &fake.api(), "", limit_s);
        collectives->reserve(1 << 20);
    }
    /// Enqueues work, in stream order.
    void enqueue(std::function<void()> work) { device.enqueue(stream, std::move(work)); }
    Ended reduce(DeviceNumbers<float>& numbers) {
        return ended([&] { collectives->all_reduce_sum(numbers.data(), numbers.count(), stream); });
    }
    /// One number from each rank to each other one. numbers (2 ranks): what is given, then taken.
    void exchange(DeviceNumbers<float>& numbers, kernels::Stream on) {
        std::vector<int64_t> n_bytes(static_cast<size_t>(n_rank), sizeof(float));
        n_bytes[static_cast<size_t>(rank)] = 0;
        collectives->exchange({numbers.data(), n_bytes}, {numbers.data() + n_rank, n_bytes}, on);
    }
    std::vector<float> room_to_exchange() const {
        return std::vector<float>(static_cast<size_t>(2 * n_rank), 1.0F);
    }
    Ended wait() {
        return ended([&] { collectives->wait(stream); });
    }
    /// Last check of every failure test: our ranks and the caller's can still communicate.
    void expect_ranks_to_talk() {
        int64_t one = 1;
        comm->all_reduce_sum(std::span(&one, 1));
        EXPECT_EQ(one, n_rank);
        EXPECT_TRUE(ranks_still_talk(MPI_COMM_WORLD));
    }

    const int rank = rank_of(MPI_COMM_WORLD), n_rank = size_of(MPI_COMM_WORLD);
    std::unique_ptr<impl::Communicator> comm = impl::mpi_communicator(MPI_COMM_WORLD);
    CurrentDevice device{properties(rank + 1)};
    FakeNccl fake;
    kernels::Stream stream = nullptr;
    std::unique_ptr<impl::DeviceCollectives> collectives;
};

}  // namespace surrogate::test
