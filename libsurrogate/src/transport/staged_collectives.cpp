// SPDX-License-Identifier: Apache-2.0
// Reductions, gathers and exchanges of device memory through MPI: to pinned host memory, over the
// ranks, and back.
#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "libsurrogate/src/transport/device_transports.hpp"

namespace surrogate::impl {

namespace {

/// Tells when the device has passed a point of any stream, also after that stream is gone.
class Mark {
public:
    explicit Mark(kernels::Device& device) : device_(device), event_(device.create_event()) {
        try {
            stream_ = device.create_stream();
        } catch (...) {
            device.destroy_event(event_);
            throw;
        }
    }
    ~Mark() {
        device_.destroy_stream(stream_);
        device_.destroy_event(event_);
    }
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

    void set(kernels::Stream stream) {
        device_.record(event_, stream);
        is_set_ = true;
    }
    /// Enqueued: `stream` waits for the mark.
    void hold(kernels::Stream stream) {
        if (is_set_) device_.wait(stream, event_);
    }
    /// Returns whether the device passes the mark within limit_s seconds (0: no limit). Throws.
    bool is_passed_within(double limit_s) {
        if (!is_set_) return true;
        device_.wait(stream_, event_);
        is_set_ = !is_done_within(device_, stream_, limit_s);
        return !is_set_;
    }

private:
    kernels::Device& device_;
    kernels::Event event_;
    kernels::Stream stream_ = nullptr;
    bool is_set_ = false;
};

class StagedCollectives final : public DeviceCollectives {
public:
    StagedCollectives(Communicator& comm, kernels::Device& device, std::string reason,
                      double timeout_s)
        : comm_(comm),
          device_(device),
          reason_(std::move(reason)),
          timeout_s_(timeout_s),
          last_copy_(device) {}
    ~StagedCollectives() override {
        // Memory that a copy may still touch must not go: work without an end keeps it.
        if (memory_ && !is_still_used()) device_.release_pinned(memory_);
    }
    StagedCollectives(const StagedCollectives&) = delete;
    StagedCollectives& operator=(const StagedCollectives&) = delete;

    std::string transport() const override { return std::string(comm_.transport()) + ", staged"; }
    std::string reason() const override { return reason_; }
    bool is_enqueued() const override { return false; }

    void reserve(int64_t n_byte) override {
        if (memory_ && n_byte <= n_byte_) return;
        if (!last_copy_.is_passed_within(timeout_s_)) throw_late(timeout_s_);
        void* larger = device_.allocate_pinned(n_byte + flag_bytes);
        if (memory_) device_.release_pinned(memory_);
        memory_ = larger;
        n_byte_ = n_byte;
    }

    /// Own part and flag, then the parts and flags of all ranks.
    void reserve_gather(int64_t n_byte) override {
        reserve((comm_.size() + 1) * (n_byte + flag_bytes));
    }

    /// Sent data, then received data.
    void reserve_exchange(int64_t n_given, int64_t n_taken) override {
        reserve(n_given + n_taken);
        sent_.reserve(static_cast<size_t>(comm_.size()));
        received_.reserve(static_cast<size_t>(comm_.size()));
    }

    void check() override { require_usable(); }
    void wait(kernels::Stream stream) override {
        require_usable();
        wait_for_stream(device_, stream, timeout_s_);
    }

protected:
    bool is_counted_by_communicator() const override { return true; }

    // Reduces one additional number, a flag that is set if a device failed. MPI must not wait for a
    // rank whose device failed, and the values of that rank must not be used. A rank that fails
    // while it copies the result to the device reports it with the next reduction.
    void do_all_reduce(void* values, int64_t count, Type type, Reduction reduction,
                       kernels::Stream stream) override {
        require_usable();
        require_room(count * width(type));
        const int64_t n_byte = count * width(type);
        std::exception_ptr failure = failure_;
        if (!failure) failure = failure_of([&] { fetch(values, n_byte, stream); });
        if (failure) std::memset(memory_, 0, static_cast<size_t>(n_byte));
        const bool has_any_failed = reduce(count, type, reduction, failure != nullptr);
        finish(failure, has_any_failed, "reduction", values, n_byte, stream);
    }

    void do_all_gather(void* values, int64_t n_byte, kernels::Stream stream) override {
        require_usable();
        const int64_t part_bytes = n_byte + flag_bytes;
        require_room((comm_.size() + 1) * part_bytes - flag_bytes);
        std::exception_ptr failure = failure_;
        const char* const own = static_cast<char*>(values) + comm_.rank() * n_byte;
        if (!failure) failure = failure_of([&] { fetch(own, n_byte, stream); });
        if (failure) std::memset(memory_, 0, static_cast<size_t>(n_byte));
        const bool has_any_failed = gather(n_byte, failure != nullptr);
        finish(failure, has_any_failed, "gather", values, comm_.size() * n_byte, stream);
    }

    // Not all ranks are neighbors, so a number of its own tells whether a device failed. Sizes
    // differ, so a rank may be the only one without room.
    void do_exchange(const DeviceParts& given, const DeviceParts& taken,
                     kernels::Stream stream) override {
        require_usable();
        std::exception_ptr failure = failure_;
        if (!failure) {
            failure = failure_of([&] {
                require_room(given.bytes() + taken.bytes());
                fetch(given.data, given.bytes(), stream);
            });
        }
        const bool has_any_failed = reduce_flag(failure != nullptr);
        if (!has_any_failed) exchange(given, taken);
        finish(failure, has_any_failed, "exchange", taken.data, taken.bytes(), stream);
    }

private:
    static constexpr int64_t flag_bytes = 8;
    static int64_t width(Type type) { return type == Type::float32 ? 4 : 8; }

    // The same outcome on all ranks, since counts and reserves are the same.
    void require_room(int64_t n_byte) const {
        if (n_byte <= n_byte_) return;
        throw Error(Status::internal, "an operation of " + std::to_string(n_byte) +
                                          " bytes exceeds the " + std::to_string(n_byte_) +
                                          " reserved");
    }

    /// Returns whether any rank's flag was set.
    bool reduce_flag(bool has_failed) {
        int64_t flag = has_failed ? 1 : 0;
        try {
            comm_.all_reduce_max(std::span(&flag, 1));
        } catch (...) {
            break_by(std::current_exception());
        }
        return flag != 0;
    }

    /// Exchanges the sent data at the start of memory_ for the received data, which then starts
    /// there.
    void exchange(const DeviceParts& given, const DeviceParts& taken) {
        char* const from = static_cast<char*>(memory_);
        char* const to = from + given.bytes();
        const auto list = [](std::vector<Communicator::Message>& messages, char* data,
                             std::span<const int64_t> n_bytes) {
            messages.clear();
            for_parts({data, n_bytes}, [&](int rank, char* part, size_t n_byte) {
                messages.push_back({rank, part, static_cast<int64_t>(n_byte)});
            });
        };
        try {
            list(sent_, from, given.n_bytes);
            list(received_, to, taken.n_bytes);
            comm_.begin_exchange(sent_, received_);
            comm_.finish_exchange();
        } catch (...) {
            break_by(std::current_exception());
        }
        std::memmove(from, to, static_cast<size_t>(taken.bytes()));
    }

    /// Copies the agreed result, the first n_byte bytes of memory_, to the device, or the end.
    void finish(const std::exception_ptr& failure, bool has_any_failed, const char* operation,
                void* values, int64_t n_byte, kernels::Stream stream) {
        if (failure) break_by(failure);
        if (has_any_failed) {
            break_by(std::make_exception_ptr(
                Error(Status::device, std::string("a device on another rank failed during a ") +
                                          operation + "; see the error of that rank")));
        }
        failure_ = failure_of([&] { bring_back(values, n_byte, stream); });
        if (failure_) std::rethrow_exception(failure_);
    }

    template <class Work>
    static std::exception_ptr failure_of(const Work& work) {
        try {
            work();
        } catch (...) {
            return std::current_exception();
        }
        return nullptr;
    }

    void fetch(const void* values, int64_t n_byte, kernels::Stream stream) {
        last_copy_.hold(stream);  // the last reduction may have been on another stream
        if (n_byte > 0) device_.copy(memory_, values, n_byte, stream);
        last_copy_.set(stream);
        wait_for_stream(device_, stream, timeout_s_);
    }

    void bring_back(void* values, int64_t n_byte, kernels::Stream stream) {
        if (n_byte > 0) device_.copy(values, memory_, n_byte, stream);
        last_copy_.set(stream);
    }

    /// Reduces count numbers and the flag behind them; whether any rank's flag was up.
    bool reduce(int64_t count, Type type, Reduction reduction, bool has_failed) {
        try {
            return type == Type::float32
                       ? reduce(static_cast<float*>(memory_), count, reduction, has_failed)
                       : reduce(static_cast<int64_t*>(memory_), count, reduction, has_failed);
        } catch (...) {
            break_by(std::current_exception());
        }
    }

    template <class T>
    bool reduce(T* numbers, int64_t count, Reduction reduction, bool has_failed) {
        T& flag = numbers[count];
        flag = has_failed ? T(1) : T(0);
        const std::span<T> all(numbers, static_cast<size_t>(count) + 1);
        reduction == Reduction::max ? comm_.all_reduce_max(all) : comm_.all_reduce_sum(all);
        return flag != T(0);
    }

    /// Gathers the parts of all ranks. The own part is at the start of memory_; on return, the
    /// parts of all ranks start there. Returns true if the flag of any rank was set.
    bool gather(int64_t n_byte, bool has_failed) {
        const int64_t part_bytes = n_byte + flag_bytes;
        char* const own = static_cast<char*>(memory_);
        char* const all = own + part_bytes;
        const int64_t flag = has_failed ? 1 : 0;
        std::memcpy(own + n_byte, &flag, flag_bytes);
        try {
            comm_.all_gather(own, all, part_bytes);
        } catch (...) {
            break_by(std::current_exception());
        }
        bool has_any_failed = false;
        for (int rank = 0; rank < comm_.size(); ++rank) {
            const char* const part = all + rank * part_bytes;
            int64_t its_flag = 0;
            std::memcpy(&its_flag, part + n_byte, flag_bytes);
            has_any_failed = has_any_failed || its_flag != 0;
            std::memmove(own + rank * n_byte, part, static_cast<size_t>(n_byte));
        }
        return has_any_failed;
    }

    bool is_still_used() noexcept {
        constexpr double limit_s = 5;
        try {
            return !last_copy_.is_passed_within(limit_s);
        } catch (...) {
            return false;  // a broken device copies nothing any more
        }
    }

    void require_usable() const {
        if (is_broken_)
            throw Error(Status::broken, "an earlier reduction failed (" + cause_ +
                                            "); the context cannot be used any more");
    }

    [[noreturn]] void break_by(const std::exception_ptr& failure) {
        is_broken_ = true;
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& error) {
            cause_ = error.what();
            throw;
        }
    }

    Communicator& comm_;
    kernels::Device& device_;
    std::string reason_;
    double timeout_s_;
    void* memory_ = nullptr;  // pinned: n_byte_ and the flag
    int64_t n_byte_ = 0;
    Mark last_copy_;                                      // to or from memory_
    std::vector<Communicator::Message> sent_, received_;  // of an exchange
    std::exception_ptr failure_;  // of this rank, which the others do not know yet
    bool is_broken_ = false;      // on all ranks
    std::string cause_;
};

}  // namespace

std::unique_ptr<DeviceCollectives> make_staged_collectives(Communicator& comm,
                                                           kernels::Device& device,
                                                           std::string reason, double timeout_s) {
    auto made = std::make_unique<StagedCollectives>(comm, device, std::move(reason), timeout_s);
    made->reserve(0);  // the flag
    return made;
}

}  // namespace surrogate::impl
