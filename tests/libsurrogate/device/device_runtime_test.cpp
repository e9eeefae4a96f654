// SPDX-License-Identifier: Apache-2.0
/// The runtime of a real device (kernels/device/device_cuda.cpp); skipped where there is none.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/device/device.hpp"
#include "libsurrogate/src/device/device_plugin.hpp"

namespace surrogate::impl {
namespace {

using kernels::Error;
using kernels::Status;

class DeviceRuntime : public testing::Test {
protected:
    void SetUp() override {
        if (load_device_plugin().n_device() == 0) GTEST_SKIP() << "no CUDA device here";
        device_ = load_device_plugin().open(-1);
        stream_ = device_->create_stream();
        host_ = static_cast<int32_t*>(device_->allocate_pinned(n_byte));
        memory_ = device_->allocate(n_byte);
        for (int32_t i = 0; i < count; ++i) host_[i] = i;
    }
    void TearDown() override {
        if (!device_) return;
        device_->release(memory_);
        device_->release_pinned(host_);
        device_->destroy_stream(stream_);
    }
    std::vector<int32_t> read() {
        device_->copy(host_, memory_, n_byte, stream_);
        device_->synchronize(stream_);
        return {host_, host_ + count};
    }

    static constexpr int32_t count = 4096;
    static constexpr int64_t n_byte = count * int64_t{sizeof(int32_t)};
    std::unique_ptr<kernels::Device> device_;
    kernels::Stream stream_ = nullptr;
    int32_t* host_ = nullptr;
    void* memory_ = nullptr;
};

TEST_F(DeviceRuntime, SaysWhatItIs) {
    const auto& properties = device_->properties();
    EXPECT_FALSE(properties.name.empty());
    EXPECT_GE(properties.major, 8);
    EXPECT_GT(properties.n_multiprocessor, 0);
    EXPECT_GE(properties.shared_bytes, 48 * 1024);
    EXPECT_GT(properties.memory_bytes, int64_t{1} << 30);
    EXPECT_NE(properties.runtime.find("driver"), std::string::npos);
}

TEST_F(DeviceRuntime, CopiesThereAndBack) {
    device_->copy(memory_, host_, n_byte, stream_);
    device_->synchronize(stream_);
    std::memset(host_, 255, n_byte);
    const auto values = read();
    for (int32_t i = 0; i < count; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], i);
}

TEST_F(DeviceRuntime, WriteTakesItsBytesDuringTheCall) {
    std::vector<int32_t> few(count, 7);
    device_->write(memory_, few.data(), n_byte, stream_);
    few.assign(few.size(), 8);
    EXPECT_EQ(read(), std::vector<int32_t>(count, 7));
}

TEST_F(DeviceRuntime, ClearGivesZeros) {
    device_->copy(memory_, host_, n_byte, stream_);
    device_->clear(memory_, n_byte, stream_);
    EXPECT_EQ(read(), std::vector<int32_t>(count, 0));
}

TEST_F(DeviceRuntime, ARecordingRunsWhenLaunchedAndAsOftenAsLaunched) {
    device_->copy(memory_, host_, n_byte, stream_);
    device_->synchronize(stream_);
    device_->begin_capture(stream_);
    device_->clear(memory_, n_byte, stream_);
    const kernels::Graph graph = device_->end_capture(stream_);
    EXPECT_EQ(read()[1], 1);
    for (int run = 0; run < 2; ++run) {
        host_[1] = 1;
        device_->copy(memory_, host_, n_byte, stream_);
        device_->launch(graph, stream_);
        EXPECT_EQ(read()[1], 0) << "run " << run;
    }
    device_->destroy_graph(graph);
}

TEST_F(DeviceRuntime, AnAbandonedRecordingLeavesTheStreamUsable) {
    device_->begin_capture(stream_);
    device_->clear(memory_, n_byte, stream_);
    device_->abandon_capture(stream_);
    device_->copy(memory_, host_, n_byte, stream_);
    EXPECT_EQ(read()[5], 5);
}

TEST_F(DeviceRuntime, AStreamWaitsForAnEventOfAnother) {
    const kernels::Stream other = device_->create_stream();
    const kernels::Event event = device_->create_event();
    device_->copy(memory_, host_, n_byte, other);
    device_->record(event, other);
    device_->wait(stream_, event);
    device_->clear(memory_, n_byte / 2, stream_);
    const auto values = read();
    EXPECT_TRUE(device_->is_done(other));
    EXPECT_EQ(values.front(), 0);
    EXPECT_EQ(values.back(), count - 1);
    device_->destroy_event(event);
    device_->destroy_stream(other);
}

TEST_F(DeviceRuntime, OutOfMemorySaysHowMuchAndLeavesTheDeviceUsable) {
    const int64_t too_much = int64_t{1} << 50;
    try {
        device_->allocate(too_much);
        FAIL() << "a pebibyte was given";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::no_memory);
        const std::string text = error.what();
        EXPECT_NE(text.find(std::to_string(too_much) + " bytes"), std::string::npos) << text;
        EXPECT_NE(text.find("are free"), std::string::npos) << text;
    }
    device_->copy(memory_, host_, n_byte, stream_);
    EXPECT_EQ(read()[9], 9);
}

TEST_F(DeviceRuntime, NoCallChangesTheThreadsCurrentContext) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    ASSERT_NE(driver, nullptr);
    const auto current = reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent"));
    ASSERT_NE(current, nullptr);
    const auto context = [&] {
        void* found = nullptr;
        EXPECT_EQ(current(&found), 0);
        return found;
    };
    void* const before = context();
    const auto device = load_device_plugin().open(0);
    device->release(device->allocate(1024));
    device->synchronize(nullptr);
    EXPECT_EQ(context(), before);
    EXPECT_EQ(before, nullptr) << "no other code has made a context current";
}

}  // namespace
}  // namespace surrogate::impl
