// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::test {

/// Ranks that are threads of this process, for tests on machines without MPI. Reductions,
/// broadcasts and gathers only.
class ThreadRanks {
public:
    explicit ThreadRanks(int n_rank)
        : n_rank_(n_rank), barrier_(n_rank), data_(static_cast<size_t>(n_rank)) {}

    /// Calls body(comm) in a thread for each rank, and waits for all.
    void run(const std::function<void(impl::Communicator& comm)>& body) {
        std::vector<std::thread> threads;
        for (int rank = 0; rank < n_rank_; ++rank) {
            threads.emplace_back([&, rank] {
                Comm comm(*this, rank);
                body(comm);
            });
        }
        for (std::thread& thread : threads) thread.join();
    }

private:
    class Comm final : public impl::Communicator {
    public:
        Comm(ThreadRanks& ranks, int rank) : ranks_(ranks), rank_(rank) {}
        int rank() const override { return rank_; }
        int size() const override { return ranks_.n_rank_; }
        const char* transport() const override { return "threads"; }

    protected:
        void do_all_reduce(void* data, int64_t count, Type type, Reduction reduction) override {
            if (type == Type::float32) return reduce(static_cast<float*>(data), count, reduction);
            if (type == Type::float64) return reduce(static_cast<double*>(data), count, reduction);
            reduce(static_cast<int64_t*>(data), count, reduction);
        }
        void do_broadcast(void* data, int64_t n_byte, int root) override {
            meet(data, [&](std::span<void* const> all) {
                if (rank_ != root)
                    std::memcpy(data, all[static_cast<size_t>(root)], static_cast<size_t>(n_byte));
            });
        }
        void do_all_gather(const void* from, void* to, int64_t n_byte) override {
            meet(const_cast<void*>(from), [&](std::span<void* const> all) {
                for (size_t r = 0; r < all.size(); ++r)
                    std::memcpy(static_cast<char*>(to) + static_cast<int64_t>(r) * n_byte, all[r],
                                static_cast<size_t>(n_byte));
            });
        }
        void do_all_gather_v(const void*, void*, std::span<const int64_t>) override { refuse(); }
        void do_all_to_all_counts(const int64_t*, int64_t*) override { refuse(); }
        void do_all_to_all(const void*, std::span<const int64_t>, void*, std::span<const int64_t>,
                           int64_t) override {
            refuse();
        }
        void do_begin_exchange(std::span<const Message>, std::span<const Message>) override {
            refuse();
        }
        void do_finish_exchange() override { refuse(); }
        int64_t do_begin_reduction(void*, int64_t, Type, Reduction) override { refuse(); }
        void do_finish_reduction(int64_t) override { refuse(); }

    private:
        [[noreturn]] static void refuse() {
            throw impl::Error(impl::Status::internal, "not an operation of ThreadRanks");
        }
        /// Calls work(pointers of all ranks) while all of them are valid.
        template <class Work>
        void meet(void* data, const Work& work) {
            ranks_.data_[static_cast<size_t>(rank_)] = data;
            ranks_.barrier_.arrive_and_wait();
            work(std::span<void* const>(ranks_.data_));
            ranks_.barrier_.arrive_and_wait();
        }
        template <class T>
        void reduce(T* data, int64_t count, Reduction reduction) {
            std::vector<T> result(data, data + count);
            meet(data, [&](std::span<void* const> all) {
                for (size_t r = 0; r < all.size(); ++r) {
                    const T* const other = static_cast<const T*>(all[r]);
                    for (int64_t i = 0; i < count; ++i) {
                        T& own = result[static_cast<size_t>(i)];
                        if (static_cast<int>(r) == rank_) continue;
                        own =
                            reduction == Reduction::sum ? own + other[i] : std::max(own, other[i]);
                    }
                }
            });
            std::memcpy(data, result.data(), static_cast<size_t>(count) * sizeof(T));
        }

        ThreadRanks& ranks_;
        const int rank_;
    };

    const int n_rank_;
    std::barrier<> barrier_;
    std::vector<void*> data_;
};

}  // namespace surrogate::test
