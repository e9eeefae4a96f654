// SPDX-License-Identifier: Apache-2.0
// The emulated device itself: order, errors and faults as tests of the library rely on them.
#include "emulated_device.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "kernels/device/cuda.cuh"
#include "tests/support/refusal.hpp"

namespace surrogate::test {
namespace {

using kernels::Event;
using kernels::Graph;
using kernels::Status;
using kernels::Stream;

__global__ void add_one(int* values, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < static_cast<unsigned>(n)) ++values[i];
}
__global__ void read(const int* value, int* out) {
    *out = *value;
}

void launch_add_one(int* values, int n, Stream stream) {
    SURROGATE_LAUNCH(add_one, static_cast<unsigned>(n + 31) / 32, 32, 0, stream, values, n);
}

/// A stream that does not continue until the gate is opened.
struct Gate {
    std::atomic<bool> is_open = false;
    void hold(EmulatedDevice& device, Stream stream) {
        device.enqueue(stream, [this] {
            while (!is_open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
    }
};

TEST(EmulatedDevice, CopiesKernelsAndWritesHappenInTheStreamsOrder) {
    EmulatedDevice device;
    for (const bool is_default : {false, true}) {
        const Stream stream = is_default ? nullptr : device.create_stream();
        constexpr int n = 100;
        auto* on_device = static_cast<int*>(device.allocate(n * 4));
        auto* pinned = static_cast<int*>(device.allocate_pinned(n * 4));
        EXPECT_EQ(reinterpret_cast<uintptr_t>(on_device) % 256, 0U);
        EXPECT_EQ(pinned[5], -1) << "memory starts as 0xff";
        Gate gate;
        gate.hold(device, stream);
        std::vector<int> values(n);
        std::iota(values.begin(), values.end(), 0);
        device.write(on_device, values.data(), n * 4, stream);
        values.assign(n, 0);  // the bytes are taken already
        launch_add_one(on_device, n, stream);
        ASSERT_EQ(cudaGetLastError(), cudaSuccess);
        device.clear(on_device + 90, 40, stream);
        device.copy(pinned, on_device, n * 4, stream);
        EXPECT_FALSE(device.is_done(stream));
        EXPECT_EQ(pinned[5], -1);
        gate.is_open = true;
        device.synchronize(stream);
        EXPECT_TRUE(device.is_done(stream));
        for (int i = 0; i < n; ++i) EXPECT_EQ(pinned[i], i < 90 ? i + 1 : 0);
        device.release(on_device);
        device.release_pinned(pinned);
        if (!is_default) device.destroy_stream(stream);
    }
    const EmulatedDevice::Counts counts = device.counts();
    EXPECT_EQ(counts.allocations, 0);
    EXPECT_EQ(counts.bytes, 0);
    EXPECT_EQ(counts.pinned_allocations, 0);
    EXPECT_EQ(counts.streams, 0);
    EXPECT_EQ(counts.n_allocation, 2);
    EXPECT_EQ(counts.n_pinned_allocation, 2);
    EXPECT_EQ(counts.n_copy, 2);
    EXPECT_EQ(counts.n_write, 2);
    EXPECT_EQ(counts.n_clear, 2);
    EXPECT_EQ(counts.n_launch, 2);
    EXPECT_EQ(counts.n_synchronize, 2);
    EXPECT_EQ(counts.n_query, 4);
    EXPECT_EQ(counts.n_wrong, 0);
}

TEST(EmulatedDevice, StreamsWaitForEachOtherOnlyByEvents) {
    EmulatedDevice device;
    const Stream slow = device.create_stream(), fast = device.create_stream();
    auto* values = static_cast<int*>(device.allocate(16));
    const Event event = device.create_event();
    device.wait(fast, event);  // never recorded: nothing to wait for
    device.clear(values, 16, slow);
    device.synchronize(slow);

    Gate gate;
    gate.hold(device, slow);
    launch_add_one(values, 1, slow);
    SURROGATE_LAUNCH(read, 1, 1, 0, fast, values, values + 1);
    device.synchronize(fast);  // not held up
    device.record(event, slow);
    device.wait(fast, event);
    SURROGATE_LAUNCH(read, 1, 1, 0, fast, values, values + 2);
    EXPECT_FALSE(device.is_done(fast));
    device.destroy_event(event);  // what was enqueued still counts
    gate.is_open = true;
    device.synchronize(fast);
    EXPECT_EQ(values[1], 0);
    EXPECT_EQ(values[2], 1);
    device.release(values);
    device.destroy_stream(slow);
    device.destroy_stream(fast);
    EXPECT_EQ(device.counts().events, 0);
    EXPECT_EQ(device.counts().n_wrong, 0);
}

TEST(EmulatedDevice, GraphsAreRecordedOnceAndDoneAtEachLaunch) {
    EmulatedDevice device;
    const Stream stream = device.create_stream(), other = device.create_stream();
    auto* values = static_cast<int*>(device.allocate(400));
    device.clear(values, 400, stream);
    const Event event = device.create_event();
    device.begin_capture(stream);
    launch_add_one(values, 50, stream);
    device.record(event, stream);
    device.wait(stream, event);
    device.copy(values + 50, values, 200, stream);
    const Graph graph = device.end_capture(stream);
    device.synchronize(stream);
    EXPECT_EQ(values[49], 0) << "recorded, not done";
    for (int i = 0; i < 3; ++i) device.launch(graph, stream);
    device.destroy_graph(graph);
    device.synchronize(stream);
    EXPECT_EQ(values[99], 3);
    EXPECT_EQ(device.counts().n_launch, 1);
    EXPECT_EQ(device.counts().n_graph_launch, 3);
    EXPECT_EQ(device.counts().graphs, 0);
    EXPECT_EQ(refusal([&] { device.launch(graph, stream); }).status, Status::device);

    const auto is_refused = [&](auto call) {
        device.begin_capture(stream);
        launch_add_one(values, 1, stream);
        EXPECT_EQ(refusal(call).status, Status::device);
        const Refusal end = refusal([&] { device.end_capture(stream); });
        EXPECT_TRUE(end.says("useless")) << end.text;
    };
    const int value = 0;
    is_refused([&] { device.synchronize(stream); });
    is_refused([&] { device.is_done(stream); });
    is_refused([&] { device.write(values, &value, 4, stream); });
    is_refused([&] { device.allocate(16); });
    is_refused([&] { device.allocate_pinned(16); });
    device.record(event, other);
    is_refused([&] { device.wait(stream, event); });

    device.begin_capture(stream);
    EXPECT_EQ(refusal([&] { device.begin_capture(other); }).status, Status::device);
    device.synchronize(other);  // not recorded: allowed
    device.abandon_capture(stream);
    EXPECT_EQ(refusal([&] { device.end_capture(stream); }).status, Status::device);
    EXPECT_EQ(refusal([&] { device.begin_capture(nullptr); }).status, Status::device);
    device.synchronize(stream);
    EXPECT_EQ(values[0], 3);
    EXPECT_EQ(device.counts().n_wrong, 0);
}

TEST(EmulatedDevice, MemoryIsLimitedAndRangesAreChecked) {
    kernels::DeviceProperties properties = EmulatedDevice::default_properties();
    properties.memory_bytes = 1000;
    EmulatedDevice device(properties);
    void* first = device.allocate(600);
    const Refusal full = refusal([&] { device.allocate(401); });
    EXPECT_EQ(full.status, Status::no_memory);
    EXPECT_TRUE(full.says("401 bytes asked, 400 bytes free")) << full.text;
    void* second = device.allocate(400);
    EXPECT_NE(device.allocate_pinned(5000), nullptr) << "pinned memory is the host's";
    EXPECT_EQ(device.counts().bytes, 1000);

    auto* bytes = static_cast<char*>(second);
    char on_host[16] = {};
    const auto status = [&](auto call) { return refusal(call).status; };
    EXPECT_EQ(status([&] { device.copy(bytes, first, 400, nullptr); }), Status::success);
    EXPECT_EQ(status([&] { device.copy(bytes + 1, first, 400, nullptr); }), Status::device);
    EXPECT_EQ(status([&] { device.copy(on_host, first, 16, nullptr); }), Status::device);
    EXPECT_EQ(status([&] { device.clear(on_host, 16, nullptr); }), Status::device);
    EXPECT_EQ(status([&] { device.write(bytes + 390, on_host, 16, nullptr); }), Status::device);
    EXPECT_EQ(status([&] { device.write(bytes, first, 16, nullptr); }), Status::device);
    EXPECT_EQ(status([&] { device.synchronize(&device); }), Status::device);
    device.release(on_host);
    device.release_pinned(first);
    EXPECT_EQ(device.counts().n_wrong, 2);
    device.release(first);
    EXPECT_EQ(status([&] { device.clear(first, 1, nullptr); }), Status::device);
    device.synchronize(nullptr);
}

TEST(EmulatedDevice, RequestedFailuresComeOnceOrBreakTheDevice) {
    EmulatedDevice device;
    const Stream stream = device.create_stream();
    device.fail_at(2, Status::no_memory);
    void* memory = device.allocate(16);
    EXPECT_EQ(refusal([&] { device.allocate(16); }).status, Status::no_memory);
    EXPECT_EQ(device.counts().allocations, 1);
    device.clear(memory, 16, stream);
    EXPECT_EQ(device.fail_at(2, Status::device), 3);
    device.clear(memory, 16, stream);
    launch_add_one(static_cast<int*>(memory), 1, stream);
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    const Refusal later = refusal([&] { device.allocate(16); });
    EXPECT_EQ(later.status, Status::broken);
    EXPECT_TRUE(later.says("a launch failed on request")) << later.text;
    device.release(memory);
    device.destroy_stream(stream);
    EXPECT_EQ(device.counts().allocations, 0);
}

TEST(EmulatedDevice, FaultsOfKernelsSurfaceAtTheNextSynchronisation) {
    EmulatedDevice device, another;
    const Stream stream = device.create_stream();
    auto* value = static_cast<int*>(device.allocate(4));
    const Event event = device.create_event();
    device.clear(value, 4, stream);
    device.enqueue(stream, [] { throw std::runtime_error("the first fault"); });
    device.enqueue(stream, [] { throw std::runtime_error("another fault"); });
    launch_add_one(value, 1, stream);
    device.record(event, stream);
    device.wait(nullptr, event);
    const Refusal first = refusal([&] { device.synchronize(nullptr); });
    EXPECT_EQ(first.status, Status::device);
    EXPECT_TRUE(first.says("the first fault")) << first.text;
    for (int i = 0; i < 2; ++i) {
        const Refusal later = refusal([&] { device.copy(value, value, 4, stream); });
        EXPECT_EQ(later.status, Status::broken);
        EXPECT_TRUE(later.says("the first fault")) << later.text;
    }
    EXPECT_EQ(*value, 0) << "nothing is done after a fault";
    device.release(value);
    device.destroy_event(event);
    device.destroy_stream(stream);
    EXPECT_EQ(refusal([&] { another.synchronize(nullptr); }).status, Status::success);
}

TEST(EmulatedDevice, HandlesShareOneDevice) {
    auto device = std::make_unique<EmulatedDevice>();
    EmulatedDevice handle = *device;
    void* memory = device->allocate(16);
    device = nullptr;
    handle.clear(memory, 16, nullptr);
    handle.synchronize(nullptr);
    EXPECT_EQ(handle.counts().bytes, 16);
}

}  // namespace
}  // namespace surrogate::test
