// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/transport/device_transports.hpp"
#include "tests/support/thread_ranks.hpp"

namespace surrogate::test {

/// Collectives of NCCL between several devices of one process, a thread for each: with real
/// devices, and with emulated ones, where the test itself is tested.
class NcclRank {
public:
    NcclRank(impl::Communicator& comm, std::unique_ptr<kernels::Device> device,
             const impl::NcclApi& nccl, double limit_s)
        : comm_(comm),
          device_(std::move(device)),
          rank_(comm.rank()),
          n_rank_(comm.size()),
          stream_(device_->create_stream()),
          collectives_(impl::make_nccl_collectives(comm, *device_, nccl, "a test", limit_s)) {
        host_ = static_cast<float*>(device_->allocate_pinned(n_byte));
        memory_ = static_cast<float*>(device_->allocate(n_byte));
        // Returns the bytes from rank r to rank s: sizes differ, some are 0.
        for (int other = 0; other < n_rank_; ++other) {
            const auto n_bytes = [&](int from, int to) {
                return from == to ? int64_t{0} : int64_t{4} * ((from + 2 * to) % 3) * 100;
            };
            given_.push_back(n_bytes(rank_, other));
            taken_.push_back(n_bytes(other, rank_));
        }
        collectives_->before_abort([this] { drop_graph(); });
    }
    ~NcclRank() {
        drop_graph();
        collectives_.reset();
        device_->release(memory_);
        device_->release_pinned(host_);
        device_->destroy_stream(stream_);
    }
    NcclRank(const NcclRank&) = delete;
    NcclRank& operator=(const NcclRank&) = delete;

    void put_numbers() {
        for (int i = 0; i < count; ++i) host_[i] = static_cast<float>(rank_ + i);
        device_->copy(memory_, host_, n_byte, stream_);
    }
    /// A sum, a maximum, a gather and an exchange, each on memory of its own.
    void enqueue() {
        collectives_->all_reduce_sum(memory_, part, stream_);
        collectives_->all_reduce_max(memory_ + part, part, stream_);
        collectives_->all_gather(memory_ + 2 * part, 4 * gathered, stream_);
        collectives_->exchange({memory_ + 4 * part, given_}, {memory_ + 6 * part, taken_}, stream_);
    }
    void expect_results(const char* what) {
        device_->copy(host_, memory_, n_byte, stream_);
        collectives_->wait(stream_);
        const int n = n_rank_;
        int n_wrong = 0;
        for (int i = 0; i < part; ++i) {
            n_wrong += host_[i] != static_cast<float>(n * i + n * (n - 1) / 2);
            n_wrong += host_[part + i] != static_cast<float>(part + i + n - 1);
        }
        for (int r = 0; r < n; ++r)
            for (int i = 0; i < gathered; ++i)
                n_wrong += host_[2 * part + r * gathered + i] !=
                           static_cast<float>(r + 2 * part + r * gathered + i);
        const float* taken = host_ + 6 * part;
        for (int r = 0; r < n; ++r) {
            int64_t first = 0;  // of what rank r gives this one
            for (int other = 0; other < rank_; ++other)
                first += other == r ? 0 : 100 * ((r + 2 * other) % 3);
            for (int64_t i = 0; i < taken_[static_cast<size_t>(r)] / 4; ++i)
                n_wrong += *taken++ != static_cast<float>(r + 4 * part + first + i);
        }
        EXPECT_EQ(n_wrong, 0) << what << " on rank " << rank_;
    }
    void record() {
        device_->begin_capture(stream_);
        enqueue();
        graph_ = device_->end_capture(stream_);
    }
    void launch() { device_->launch(graph_, stream_); }
    void wait() { collectives_->wait(stream_); }
    bool has_graph() const { return graph_ != nullptr; }

private:
    void drop_graph() {
        if (graph_) device_->destroy_graph(std::exchange(graph_, nullptr));
    }

    static constexpr int part = 2000, gathered = 500, count = 8 * part;
    static constexpr int64_t n_byte = 4 * count;
    impl::Communicator& comm_;
    std::unique_ptr<kernels::Device> device_;
    const int rank_, n_rank_;
    kernels::Stream stream_;
    std::unique_ptr<impl::DeviceCollectives> collectives_;
    kernels::Graph graph_ = nullptr;
    float *host_ = nullptr, *memory_ = nullptr;
    std::vector<int64_t> given_, taken_;
};

using OpenDevice = std::function<std::unique_ptr<kernels::Device>(int rank)>;

/// 2 to 4 ranks.
inline void expect_operations_between_devices(int n_rank, const OpenDevice& open,
                                              const impl::NcclApi& nccl) {
    ThreadRanks(n_rank).run([&](impl::Communicator& comm) {
        NcclRank rank(comm, open(comm.rank()), nccl, 30);
        rank.put_numbers();
        rank.enqueue();
        rank.expect_results("enqueued");
        rank.record();
        for (int i = 0; i < 3; ++i) {
            rank.put_numbers();
            rank.launch();
            rank.expect_results("in a graph");
        }
    });
}

/// One rank does not launch its graph: the others return by the limit, and NCCL is aborted although
/// graphs were alive.
inline void expect_limit_with_graphs(int n_rank, const OpenDevice& open,
                                     const impl::NcclApi& nccl) {
    ThreadRanks(n_rank).run([&](impl::Communicator& comm) {
        NcclRank rank(comm, open(comm.rank()), nccl, 2);
        rank.put_numbers();
        rank.enqueue();
        rank.wait();
        rank.record();
        if (comm.rank() > 0) {
            const auto start = std::chrono::steady_clock::now();
            rank.launch();
            EXPECT_THROW(rank.wait(), kernels::Error);
            const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
            EXPECT_LE(passed.count(), 30);
            EXPECT_FALSE(rank.has_graph());
        }
        comm.agree([] {});
    });
}

}  // namespace surrogate::test
