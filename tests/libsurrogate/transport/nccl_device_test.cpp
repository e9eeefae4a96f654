// SPDX-License-Identifier: Apache-2.0
// The real NCCL on a real device, alone: that its functions are what we declare and its
// communicators behave as we expect; skipped where either is missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "libsurrogate/src/device/device_plugin.hpp"
#include "libsurrogate/src/transport/device_transports.hpp"
#include "tests/libsurrogate/transport/nccl_ranks_case.hpp"

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

/// On one rank and in place NCCL has nothing to enqueue: such a graph is empty, and must be
/// harmless.
TEST_F(NcclDevice, RecordsNothingInPlaceOnOneRank) {
    reduce();
    collectives_->wait(stream_);
    device_->begin_capture(stream_);
    reduce();
    const kernels::Graph graph = device_->end_capture(stream_);
    for (int i = 0; i < 10; ++i) device_->launch(graph, stream_);
    expect_numbers_unchanged();
    device_->destroy_graph(graph);
}

/// A communicator of one rank without our collectives, which reduce in place: from one memory to
/// another NCCL has work to do, and a graph to put it in.
class NcclOutOfPlace : public NcclDevice {
protected:
    void SetUp() override {
        NcclDevice::SetUp();
        if (!device_) return;  // skipped
        other_ = static_cast<float*>(device_->allocate(n_byte));
        NcclUniqueId id;
        ASSERT_EQ(nccl_->get_unique_id(&id), NcclResult::success);
        NcclConfig config;
        const auto init = [&] { return nccl_->comm_init_rank_config(&raw_, 1, id, 0, &config); };
        ASSERT_EQ(current(init), NcclResult::success);
    }
    void TearDown() override {
        if (raw_) {
            current([&] { return nccl_->comm_finalize(raw_); });
            nccl_->comm_destroy(raw_);  // not followed: there is nothing left to ask
        }
        if (other_) device_->release(other_);
        NcclDevice::TearDown();
    }
    /// A call with our device as the current one, followed until NCCL is done with it.
    template <class Call>
    NcclResult current(const Call& call) {
        struct Work {
            const Call* call;
            NcclResult result = NcclResult::success;
        } work{&call};
        device_->call_as_current(
            [](void* context) {
                auto& mine = *static_cast<Work*>(context);
                mine.result = (*mine.call)();
            },
            &work);
        while (work.result == NcclResult::in_progress)
            if (nccl_->comm_get_async_error(raw_, &work.result) != NcclResult::success) break;
        return work.result;
    }
    NcclResult reduce_to_other() {
        return current([&] {
            return nccl_->all_reduce(memory_, other_, count, NcclType::float32, NcclOperation::sum,
                                     raw_, stream_);
        });
    }
    void clear_other() { device_->clear(other_, n_byte, stream_); }
    std::vector<float> other() {
        device_->copy(host_, other_, n_byte, stream_);
        device_->synchronize(stream_);
        return {host_, host_ + count};
    }

    NcclComm* raw_ = nullptr;
    float* other_ = nullptr;
};

TEST_F(NcclOutOfPlace, GraphDoesTheReductionAtEachLaunch) {
    ASSERT_EQ(reduce_to_other(), NcclResult::success);
    EXPECT_EQ(other(), expected_);
    clear_other();
    device_->synchronize(stream_);
    device_->begin_capture(stream_);
    const NcclResult recorded = reduce_to_other();
    const kernels::Graph graph = device_->end_capture(stream_);
    ASSERT_EQ(recorded, NcclResult::success);
    EXPECT_EQ(other(), std::vector<float>(count, 0.0F)) << "recording did the work itself";
    for (int i = 0; i < 3; ++i) {
        clear_other();
        device_->launch(graph, stream_);
        EXPECT_EQ(other(), expected_) << "launch " << i;
    }
    device_->destroy_graph(graph);
}

/// NCCL between all devices of this machine, up to four.
class NcclDevices : public testing::Test {
protected:
    void SetUp() override {
        const DevicePlugin& plugin = load_device_plugin();
        if (plugin.n_device() == 0) GTEST_SKIP() << "no CUDA device here";
        n_rank_ = std::min(plugin.n_device(), 4);
        if (n_rank_ < 2) GTEST_SKIP() << "one device: needs two";
        std::string problem;
        nccl_ = load_nccl(problem);
        if (!nccl_) GTEST_SKIP() << "no NCCL here: " << problem;
    }
    static std::unique_ptr<kernels::Device> open(int rank) {
        return load_device_plugin().open(rank);
    }
    int n_rank_ = 0;
    const NcclApi* nccl_ = nullptr;
};

TEST_F(NcclDevices, ReduceGatherAndExchangeAlsoInGraphs) {
    test::expect_operations_between_devices(n_rank_, open, *nccl_);
}

TEST_F(NcclDevices, ATimeLimitPassesWithGraphsAlive) {
    test::expect_limit_with_graphs(n_rank_, open, *nccl_);
}

}  // namespace
}  // namespace surrogate::impl
