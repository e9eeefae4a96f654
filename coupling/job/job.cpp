// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/job.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>

#include "coupling/job/output.hpp"

#ifdef SURROGATE_HAVE_MPI
#include <surrogate/surrogate_mpi.hpp>
#endif

namespace surrogate::tool {

namespace {

/// Outcome of the local work of one rank.
struct Outcome {
    bool has_failed = false;
    Exit status = Exit::success;
    std::string text;
};

Outcome outcome_of(const Job& job, const std::function<void()>& work) {
    try {
        work();
        return {};
    } catch (const Failure& failure) {
        return {true, failure.status(), failure.what()};
    } catch (const Error& error) {
        return {true, job.exit_status(error), error.what()};
    } catch (const std::bad_alloc&) {
        return {true, Exit::bad_usage, "out of memory"};
    } catch (const std::exception& error) {
        return {true, Exit::bad_usage, error.what()};
    }
}

}  // namespace

Exit Job::exit_status(const Error& error) const {
    require_communication(error);
    return error.status() == SURROGATE_NOT_FINITE ? Exit::not_passed : Exit::bad_usage;
}

void Job::require_communication(const Error& error) const {
    if (error.status() == SURROGATE_MPI || error.status() == SURROGATE_BROKEN) abort(error.what());
}

#ifdef SURROGATE_HAVE_MPI

namespace {

constexpr int64_t largest_message = int64_t{1} << 30;  // counts are int

/// Prints `text` to stderr and ends all ranks. Does not communicate and does not call the library.
[[noreturn]] void end_all(const std::string& text) {
    int is_running = 0, is_over = 0, rank = 0;
    MPI_Initialized(&is_running);
    MPI_Finalized(&is_over);
    is_running = is_running && !is_over;
    if (is_running) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    print_error("surrogate: rank " + std::to_string(rank) + ": " + text);
    if (is_running) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(Exit::bad_usage));
    std::_Exit(static_cast<int>(Exit::bad_usage));
}

/// Checks the return value of an MPI call of this file; a failure ends all ranks. The default error
/// handler of the world communicator ends the job by itself, but tools between the program and MPI
/// may return an error without calling the handler.
void require(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    end_all(std::string(call) + " failed: " + text);
}

void send(const void* data, int64_t n_byte, int to) {
    const auto* bytes = static_cast<const std::byte*>(data);
    for (int64_t begin = 0; begin < n_byte; begin += largest_message) {
        const auto n = static_cast<int>(std::min(largest_message, n_byte - begin));
        require(MPI_Send(bytes + begin, n, MPI_BYTE, to, 0, MPI_COMM_WORLD), "MPI_Send");
    }
}

void receive(void* data, int64_t n_byte, int from) {
    auto* bytes = static_cast<std::byte*>(data);
    for (int64_t begin = 0; begin < n_byte; begin += largest_message) {
        const auto n = static_cast<int>(std::min(largest_message, n_byte - begin));
        require(MPI_Recv(bytes + begin, n, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                "MPI_Recv");
    }
}

/// Sends `out` to one rank and receives `in`, whose size is set, from another rank. Both ends have
/// the sizes, so rounds without bytes send no message.
void swap(const std::vector<std::byte>& out, int to, std::vector<std::byte>& in, int from) {
    const size_t n = std::max(out.size(), in.size());
    for (size_t begin = 0; begin < n; begin += largest_message) {
        const auto piece = [begin](size_t size) {  // of this round, 0 at the end
            const size_t left = size - std::min(size, begin);
            return static_cast<int>(std::min(static_cast<size_t>(largest_message), left));
        };
        const int n_out = piece(out.size()), n_in = piece(in.size());
        require(MPI_Sendrecv(out.data() + (n_out > 0 ? begin : 0), n_out, MPI_BYTE,
                             n_out > 0 ? to : MPI_PROC_NULL, 0, in.data() + (n_in > 0 ? begin : 0),
                             n_in, MPI_BYTE, n_in > 0 ? from : MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
    }
}

std::string broadcast_from(const std::string& text, int root) {
    auto n = static_cast<int64_t>(text.size());
    require(MPI_Bcast(&n, 1, MPI_INT64_T, root, MPI_COMM_WORLD), "MPI_Bcast");
    std::string copy = text;
    copy.resize(static_cast<size_t>(n));
    require(MPI_Bcast(copy.data(), static_cast<int>(n), MPI_CHAR, root, MPI_COMM_WORLD),
            "MPI_Bcast");
    return copy;
}

template <class T>
T reduced(T value, MPI_Datatype type, MPI_Op operation) {
    require(MPI_Allreduce(MPI_IN_PLACE, &value, 1, type, operation, MPI_COMM_WORLD),
            "MPI_Allreduce");
    return value;
}

}  // namespace

Job::Job() {
    int is_initialised = 0;
    require(MPI_Initialized(&is_initialised), "MPI_Initialized");
    if (!is_initialised) {
        int level = 0;
        require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
        is_owner_ = true;
    }
    require(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    require(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
}

Job::~Job() {
    if (is_owner_) require(MPI_Finalize(), "MPI_Finalize");
}

Context Job::make_context(const Options& options) const {
    return mpi_context(MPI_COMM_WORLD, options);
}

Context Job::make_group_context(int group, const Options& options) const {
    MPI_Comm comm = MPI_COMM_NULL;
    require(MPI_Comm_split(MPI_COMM_WORLD, group, rank_, &comm), "MPI_Comm_split");
    Context context = mpi_context(comm, options);  // has its own duplicate
    require(MPI_Comm_free(&comm), "MPI_Comm_free");
    return context;
}

void Job::barrier() const {
    require(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}
double Job::max(double value) const {
    return reduced(value, MPI_DOUBLE, MPI_MAX);
}
int64_t Job::max(int64_t value) const {
    return reduced(value, MPI_INT64_T, MPI_MAX);
}
int64_t Job::sum(int64_t value) const {
    return reduced(value, MPI_INT64_T, MPI_SUM);
}
std::string Job::broadcast(const std::string& text) const {
    return broadcast_from(text, 0);
}

std::vector<std::byte> Job::gather(const void* data, int64_t n_byte) const {
    std::vector<int64_t> counts(static_cast<size_t>(size_));
    require(MPI_Gather(&n_byte, 1, MPI_INT64_T, counts.data(), 1, MPI_INT64_T, 0, MPI_COMM_WORLD),
            "MPI_Gather");
    const auto* bytes = static_cast<const std::byte*>(data);
    if (!is_root()) {
        send(bytes, n_byte, 0);
        return {};
    }
    std::vector<std::byte> all(bytes, bytes + n_byte);
    for (int from = 1; from < size_; ++from) {
        const int64_t n = counts[static_cast<size_t>(from)];
        const size_t begin = all.size();
        all.resize(begin + static_cast<size_t>(n));
        receive(all.data() + begin, n, from);
    }
    return all;
}

std::string Job::scatter(const std::function<std::string(int rank)>& make) const {
    std::string bytes;
    Outcome outcome;
    if (is_root()) {
        for (int to = 1; to < size_; ++to) {
            if (!outcome.has_failed) outcome = outcome_of(*this, [&] { bytes = make(to); });
            if (outcome.has_failed) bytes.clear();
            const auto n = static_cast<int64_t>(bytes.size());
            send(&n, sizeof n, to);
            send(bytes.data(), n, to);
        }
        std::string().swap(bytes);
    } else {
        int64_t n = 0;
        receive(&n, sizeof n, 0);
        bytes.resize(static_cast<size_t>(n));
        receive(bytes.data(), n, 0);
    }
    agree([&] {
        if (outcome.has_failed) throw Failure(outcome.status, outcome.text);
    });
    return bytes;
}

std::vector<std::vector<std::byte>> Job::exchange(
    const std::vector<std::vector<std::byte>>& to_rank) const {
    const auto n_ranks = static_cast<size_t>(size_);
    std::vector<int64_t> n_out(n_ranks), n_in(n_ranks);
    for (size_t r = 0; r < n_ranks; ++r) n_out[r] = static_cast<int64_t>(to_rank[r].size());
    require(MPI_Alltoall(n_out.data(), 1, MPI_INT64_T, n_in.data(), 1, MPI_INT64_T, MPI_COMM_WORLD),
            "MPI_Alltoall");
    std::vector<std::vector<std::byte>> from_rank(n_ranks);
    from_rank[static_cast<size_t>(rank_)] = to_rank[static_cast<size_t>(rank_)];
    for (int shift = 1; shift < size_; ++shift) {
        const int to = (rank_ + shift) % size_, from = (rank_ + size_ - shift) % size_;
        from_rank[static_cast<size_t>(from)].resize(
            static_cast<size_t>(n_in[static_cast<size_t>(from)]));
        swap(to_rank[static_cast<size_t>(to)], to, from_rank[static_cast<size_t>(from)], from);
    }
    return from_rank;
}

void Job::agree(const std::function<void()>& work) const {
    const Outcome mine = outcome_of(*this, work);
    const int first = reduced(mine.has_failed ? rank_ : size_, MPI_INT, MPI_MIN);
    if (first == size_) return;
    int status = static_cast<int>(mine.status);
    require(MPI_Bcast(&status, 1, MPI_INT, first, MPI_COMM_WORLD), "MPI_Bcast");
    const std::string text = broadcast_from(mine.text, first);
    throw Failure(static_cast<Exit>(status),
                  size_ == 1 ? text : "rank " + std::to_string(first) + ": " + text);
}

void Job::abort(const std::string& text) const {
    end_all(text);
}

#else

Job::Job() = default;
Job::~Job() = default;

Context Job::make_context(const Options& options) const {
    return Context(options);
}
Context Job::make_group_context(int /*group*/, const Options& options) const {
    return Context(options);
}
void Job::barrier() const {}
double Job::max(double value) const {
    return value;
}
int64_t Job::max(int64_t value) const {
    return value;
}
int64_t Job::sum(int64_t value) const {
    return value;
}
std::string Job::broadcast(const std::string& text) const {
    return text;
}

std::vector<std::byte> Job::gather(const void* data, int64_t n_byte) const {
    const auto* bytes = static_cast<const std::byte*>(data);
    return {bytes, bytes + n_byte};
}

std::string Job::scatter(const std::function<std::string(int rank)>&) const {
    return "";
}

std::vector<std::vector<std::byte>> Job::exchange(
    const std::vector<std::vector<std::byte>>& to_rank) const {
    return to_rank;
}

void Job::agree(const std::function<void()>& work) const {
    const Outcome mine = outcome_of(*this, work);
    if (mine.has_failed) throw Failure(mine.status, mine.text);
}

void Job::abort(const std::string& text) const {
    print_error("surrogate: " + text);
    std::exit(static_cast<int>(Exit::bad_usage));
}

#endif

}  // namespace surrogate::tool
