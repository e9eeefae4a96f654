// SPDX-License-Identifier: Apache-2.0
// Reductions, gathers and exchanges of device memory by NCCL, on the caller's stream.
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "libsurrogate/src/transport/device_transports.hpp"

namespace surrogate::impl {

namespace {

/// Limits without a timeout_s: a start that lacks a rank must end, and so must a destructor.
constexpr double start_limit_s = 120;
constexpr double finish_limit_s = 5;
/// Limit for ncclCommAbort, which waits for graphs that hold operations of the communicator. Ours
/// are destroyed before, so that it ends within milliseconds.
constexpr std::chrono::seconds abort_limit{5};

NcclType nccl_type(bool is_float) {
    return is_float ? NcclType::float32 : NcclType::int64;
}

/// A last call to NCCL, in a thread of its own that may outlive everything but NCCL.
class DetachedCall {
public:
    /// Starts the thread, which makes `device` current, calls function(comm), and ends. Signals of
    /// the host are not delivered to it. Throws bad_alloc, system_error: nothing was called then.
    DetachedCall(kernels::Device& device, NcclResult (*function)(NcclComm*), NcclComm* comm) {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            std::thread([state = state_, &device, function, comm] {
                call(*state, device, function, comm);
            }).detach();
        } catch (...) {
            pthread_sigmask(SIG_SETMASK, &before, nullptr);
            throw;
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    /// Waits for the end of the call. After `limit` it goes on alone, without the device.
    void wait(std::chrono::seconds limit) {
        std::unique_lock lock(state_->mutex);
        state_->changed.wait(lock, [&] { return state_->has_begun; });
        state_->changed.wait_for(lock, limit, [&] { return state_->is_done; });
    }

private:
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        bool has_begun = false, is_done = false;

        void set(bool State::*flag) {
            const std::lock_guard lock(mutex);
            this->*flag = true;
            changed.notify_all();
        }
    };

    static void call(State& state, kernels::Device& device, NcclResult (*function)(NcclComm*),
                     NcclComm* comm) noexcept {
        struct Pack {
            State& state;
            NcclResult (*function)(NcclComm*);
            NcclComm* comm;
        } pack{state, function, comm};
        const auto work = [](void* context) {
            Pack& p = *static_cast<Pack*>(context);
            p.state.set(&State::has_begun);
            p.function(p.comm);
        };
        try {
            device.call_as_current(work, &pack);
        } catch (...) {
            // A device that is lost cannot be made current.
            if (!state.has_begun) work(&pack);
        }
        state.set(&State::is_done);
    }

    std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// All calls of NCCL are made with the device as the thread's current one. They are asynchronous:
/// NcclResult::in_progress is asked for again until it is something else.
///
/// Once aborted or destroyed, NCCL's communicator is not looked at again, whatever those calls
/// returned: it belongs to NCCL then.
class NcclCollectives final : public DeviceCollectives {
public:
    NcclCollectives(const NcclApi& nccl, kernels::Device& device, int rank, std::string reason,
                    double timeout_s)
        : nccl_(nccl),
          device_(device),
          rank_(rank),
          timeout_s_(timeout_s),
          reason_(std::move(reason)) {
        std::string problem;
        name_ = "NCCL " + nccl_version_text(nccl_version(nccl, problem));
    }
    // Sends nothing over MPI and ends in finish_limit_s: a healthy NCCL is given that long to bring
    // to an end what was enqueued, then it is aborted.
    ~NcclCollectives() override { finish(); }
    NcclCollectives(const NcclCollectives&) = delete;
    NcclCollectives& operator=(const NcclCollectives&) = delete;

    std::string transport() const override { return name_; }
    std::string reason() const override { return reason_; }
    bool is_enqueued() const override { return true; }
    void reserve(int64_t) override {}  // in place, NCCL's own buffers have a fixed size
    void reserve_gather(int64_t) override {}
    void reserve_exchange(int64_t, int64_t) override {}

    NcclUniqueId new_id() {
        NcclUniqueId id{};
        require(current([&] { return nccl_.get_unique_id(&id); }), "ncclGetUniqueId");
        return id;
    }

    /// All ranks. Returns when the communicator is ready.
    void start(const NcclUniqueId& id, int n_rank) {
        NcclConfig config;
        const NcclResult result = current(
            [&] { return nccl_.comm_init_rank_config(&comm_, n_rank, id, rank_, &config); });
        complete(result, "ncclCommInitRankConfig", timeout_s_ > 0 ? timeout_s_ : start_limit_s);
    }
    /// Returns whether the failure is that other ranks did not arrive in time.
    bool was_late() const { return was_late_; }

    void check() override {
        require_usable();
        require_calm("an earlier operation of NCCL");
    }

    void give_up(const char* cause) noexcept override { abandon("%s", cause); }

    void wait(kernels::Stream stream) override {
        require_usable();
        Polling polling(timeout_s_);
        while (!is_done(stream)) {
            require_calm("an operation of NCCL on the stream");
            if (!polling.pause()) break_late("the work of the stream", timeout_s_);
        }
        require_calm("an operation of NCCL on the stream");
    }

protected:
    void do_all_reduce(void* values, int64_t count, Type type, Reduction reduction,
                       kernels::Stream stream) override {
        require_usable();
        if (count == 0) return;
        const NcclOperation operation =
            reduction == Reduction::max ? NcclOperation::max : NcclOperation::sum;
        const NcclResult result = current([&] {
            return nccl_.all_reduce(values, values, static_cast<size_t>(count),
                                    nccl_type(type == Type::float32), operation, comm_, stream);
        });
        complete(result, "ncclAllReduce", timeout_s_);
    }

    void do_all_gather(void* values, int64_t n_byte, kernels::Stream stream) override {
        require_usable();
        if (n_byte == 0) return;
        const char* const own = static_cast<char*>(values) + rank_ * n_byte;
        const NcclResult result = current([&] {
            return nccl_.all_gather(own, values, static_cast<size_t>(n_byte), NcclType::int8, comm_,
                                    stream);
        });
        complete(result, "ncclAllGather", timeout_s_);
    }

    void do_exchange(const DeviceParts& given, const DeviceParts& taken,
                     kernels::Stream stream) override {
        require_usable();
        if (given.bytes() + taken.bytes() == 0) return;
        const NcclResult result = current([&] { return send_and_receive(given, taken, stream); });
        complete(result, "a group of ncclSend and ncclRecv", timeout_s_);
    }

private:
    /// NCCL's outcome of `call`, made with the device current.
    template <class Call>
    NcclResult current(const Call& call) {
        struct Pack {
            const Call& call;
            NcclResult result;
        } pack{call, NcclResult::success};
        device_.call_as_current(
            [](void* context) {
                Pack& p = *static_cast<Pack*>(context);
                p.result = p.call();
            },
            &pack);
        return pack.result;
    }

    /// Sends and receives all parts in one group, which is always closed. Returns the first error
    /// in the group, or the result of the group.
    NcclResult send_and_receive(const DeviceParts& given, const DeviceParts& taken,
                                kernels::Stream stream) {
        NcclResult first = nccl_.group_start();
        if (first != NcclResult::success) return first;
        const auto keep = [&](NcclResult result) {
            const bool is_error =
                result != NcclResult::success && result != NcclResult::in_progress;
            if (is_error && first == NcclResult::success) first = result;
        };
        for_parts(given, [&](int rank, char* data, size_t n_byte) {
            keep(nccl_.send(data, n_byte, NcclType::int8, rank, comm_, stream));
        });
        for_parts(taken, [&](int rank, char* data, size_t n_byte) {
            keep(nccl_.recv(data, n_byte, NcclType::int8, rank, comm_, stream));
        });
        const NcclResult end = nccl_.group_end();
        return first == NcclResult::success ? end : first;
    }

    /// State of the communicator: success, in_progress or an error.
    NcclResult async_error() {
        NcclResult state = NcclResult::success;
        const NcclResult result = nccl_.comm_get_async_error(comm_, &state);
        return result == NcclResult::success ? state : result;
    }

    /// The one place where results of NCCL are looked at; in_progress is for complete().
    void require(NcclResult result, const char* call) {
        if (result == NcclResult::success) return;
        break_now("%s failed: %s%s%s", call, nccl_.get_error_string(result),
                  last_error()[0] ? "; " : "", last_error());
    }

    /// Errors that came meanwhile; work under way is none.
    void require_calm(const char* operation) {
        const NcclResult state = async_error();
        if (state != NcclResult::in_progress) require(state, operation);
    }

    void complete(NcclResult result, const char* call, double limit_s) {
        for (Polling polling(limit_s); result == NcclResult::in_progress; result = async_error())
            if (!polling.pause()) break_late(call, limit_s);
        require(result, call);
    }

    bool is_done(kernels::Stream stream) {
        try {
            return device_.is_done(stream);
        } catch (const std::exception& error) {
            abandon("%s", error.what());
            throw;
        }
    }

    const char* last_error() const {
        const char* text = nccl_.get_last_error(comm_);
        return text ? text : "";
    }

    void require_usable() const {
        if (cause_[0]) {
            throw Error(Status::broken,
                        std::string(cause_) + "; the context cannot be used any more");
        }
    }

    [[noreturn]] void break_late(const char* what, double limit_s) {
        was_late_ = true;
        break_now(
            "%s has not ended within %s (timeout_s); another rank may have failed, or the "
            "limit is too short",
            what, seconds_text(limit_s).c_str());
    }

    template <class... Words>
    [[noreturn]] void break_now(const char* format, Words... words) {
        abandon(format, words...);
        throw Error(Status::device, cause_);
    }

    /// Keeps the first cause and aborts, also if there is no memory left. The words are written
    /// first: some of them are NCCL's.
    template <class... Words>
    void abandon(const char* format, Words... words) noexcept {
        if (!cause_[0]) {
            const int n = std::snprintf(cause_, sizeof cause_, "rank %d: ", rank_);
            std::snprintf(cause_ + n, sizeof cause_ - static_cast<size_t>(n), format, words...);
        }
        abort();
    }

    /// NCCL waits for graphs of the communicator, without looking at any flag: ours go first. What
    /// other graphs hold, after a defect, costs the limit and one thread instead of a hang.
    void abort() noexcept {
        NcclComm* comm = std::exchange(comm_, nullptr);
        if (!comm) return;
        release_graphs();
        try {
            DetachedCall(device_, nccl_.comm_abort, comm).wait(abort_limit);
        } catch (...) {  // no memory or no thread
            release([&] { return nccl_.comm_abort(comm); });
        }
    }

    void finish() noexcept {
        if (!comm_) return;
        if (!is_finalized()) return abort();
        NcclComm* comm = std::exchange(comm_, nullptr);
        release([&] { return nccl_.comm_destroy(comm); });
    }

    bool is_finalized() noexcept {
        try {
            const double limit_s =
                timeout_s_ > 0 ? std::min(timeout_s_, finish_limit_s) : finish_limit_s;
            NcclResult result = current([&] { return nccl_.comm_finalize(comm_); });
            for (Polling polling(limit_s); result == NcclResult::in_progress;
                 result = async_error())
                if (!polling.pause()) return false;
            return result == NcclResult::success;
        } catch (...) {
            return false;
        }
    }

    /// A last call to NCCL, whose outcome changes nothing; made in any case, also if the device
    /// cannot be made current any more.
    template <class Call>
    void release(const Call& call) noexcept {
        bool is_made = false;
        const auto once = [&] {
            is_made = true;
            return call();
        };
        try {
            current(once);
        } catch (...) {
            if (!is_made) call();
        }
    }

    const NcclApi& nccl_;
    kernels::Device& device_;
    int rank_;
    double timeout_s_;
    std::string reason_, name_;
    NcclComm* comm_ = nullptr;  // null: not started, or aborted
    bool was_late_ = false;
    char cause_[1000] = "";  // not empty: broken
};

/// Starts NCCL on all ranks. While it starts no rank uses `comm`, so the ranks exchange outcomes
/// afterwards; if a rank only waited for another, the error of that one is reported.
void start_together(Communicator& comm, NcclCollectives& nccl, const NcclUniqueId& id) {
    std::exception_ptr failure;
    try {
        nccl.start(id, comm.size());
    } catch (...) {
        failure = std::current_exception();
    }
    const bool was_late = failure && nccl.was_late();
    int64_t has_cause = failure && !was_late;
    comm.all_reduce_max(std::span(&has_cause, 1));
    comm.agree([&] {
        if (failure && !(was_late && has_cause)) std::rethrow_exception(failure);
    });
}

}  // namespace

std::unique_ptr<DeviceCollectives> make_nccl_collectives(Communicator& comm,
                                                         kernels::Device& device,
                                                         const NcclApi& nccl, std::string reason,
                                                         double timeout_s) {
    std::unique_ptr<NcclCollectives> made;
    NcclUniqueId id{};
    comm.agree([&] {
        made = std::make_unique<NcclCollectives>(nccl, device, comm.rank(), std::move(reason),
                                                 timeout_s);
        if (comm.rank() == 0) id = made->new_id();
    });
    comm.broadcast(&id, sizeof id, 0);
    start_together(comm, *made, id);
    return made;
}

}  // namespace surrogate::impl
