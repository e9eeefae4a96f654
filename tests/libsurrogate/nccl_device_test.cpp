// SPDX-License-Identifier: Apache-2.0
// The real NCCL on a real device, alone: that its functions are what we declare and its
// communicators behave as we expect; skipped where either is missing.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

#include "libsurrogate/src/core/device_plugin.hpp"
#include "libsurrogate/src/dist/device_transports.hpp"

namespace surrogate::impl {
namespace {

class NcclDevice : public testing::Test {
protected:
    static constexpr int64_t count = 1000;

    void SetUp() override {
        if (load_device_plugin().n_device() == 0) GTEST_SKIP() << "no CUDA device here";
        std::string problem;
        nccl_ = load_nccl(problem);
        if (!nccl_) GTEST_SKIP() << "no CUDA device here that NCCL could use: " << problem;
        device_ = load_device_plugin().open(-1);
        stream_ = device_->create_stream();
        host_ = static_cast<float*>(device_->allocate_pinned(n_byte));
        memory_ = static_cast<float*>(device_->allocate(n_byte));
        std::iota(host_, host_ + count, -0.5F * count);
        expected_.assign(host_, host_ + count);
        device_->copy(memory_, host_, n_byte, stream_);
        collectives_ = make_nccl_collectives(*comm_, *device_, *nccl_, "a test", 30);
    }
    void TearDown() override {
        if (!device_) return;
        collectives_.reset();
        device_->release(memory_);
        device_->release_pinned(host_);
        device_->destroy_stream(stream_);
    }
    void reduce() {
        collectives_->all_reduce_max(memory_, count, stream_);
        collectives_->all_reduce_sum(memory_, count, stream_);
        collectives_->all_reduce_sum(reinterpret_cast<int64_t*>(memory_), count / 2, stream_);
    }
    void expect_numbers_unchanged() {
        std::fill_n(host_, count, 0.0F);
        device_->copy(host_, memory_, n_byte, stream_);
        collectives_->wait(stream_);
        EXPECT_EQ(std::vector<float>(host_, host_ + count), expected_);
    }

    static constexpr int64_t n_byte = count * int64_t{sizeof(float)};
    const NcclApi* nccl_ = nullptr;
    std::unique_ptr<Communicator> comm_ = self_communicator();
    std::unique_ptr<kernels::Device> device_;
    std::unique_ptr<DeviceCollectives> collectives_;
    kernels::Stream stream_ = nullptr;
    float *host_ = nullptr, *memory_ = nullptr;
    std::vector<float> expected_;
};

TEST_F(NcclDevice, LeavesTheNumbersOfARankAlone) {
    EXPECT_TRUE(collectives_->transport().starts_with("NCCL 2.")) << collectives_->transport();
    for (int i = 0; i < 100; ++i) reduce();
    expect_numbers_unchanged();
    collectives_->check();
}

TEST_F(NcclDevice, IsRecordedInAGraph) {
    reduce();
    collectives_->wait(stream_);
    device_->begin_capture(stream_);
    reduce();
    const kernels::Graph graph = device_->end_capture(stream_);
    for (int i = 0; i < 10; ++i) device_->launch(graph, stream_);
    expect_numbers_unchanged();
    device_->destroy_graph(graph);
}

}  // namespace
}  // namespace surrogate::impl
