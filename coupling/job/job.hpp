// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate::tool {

/// Exit status (see `surrogate check --help`).
enum class Exit : int {
    success = 0,
    not_passed = 1,  ///< it ran, and the result is wrong
    bad_usage = 2,   ///< options, files, meshes
    no_case = 3,     ///< no check case in the file, or a family that this build does not have
    stopped = 4      ///< ended by a signal after it wrote all data for --resume
};

/// Ends the program with this status and text. Thrown by all ranks alike, or inside Job::agree().
class Failure : public std::runtime_error {
public:
    Failure(Exit status, const std::string& text) : std::runtime_error(text), status_(status) {}
    Exit status() const { return status_; }

private:
    Exit status_;
};

/// Throws Failure(Exit::bad_usage).
[[noreturn]] inline void fail(const std::string& text) {
    throw Failure(Exit::bad_usage, text);
}

/// The ranks of this program: the ranks of mpirun, or one rank in a build without MPI. No other
/// file of the program uses MPI. All functions except rank(), size(), is_root(), exit_status(),
/// require_communication() and abort() are collective.
///
/// An MPI call that fails on one rank, here or in the library, ends all ranks through abort(): the
/// other ranks may wait in the failed call, so no agreement is possible. Code that catches
/// surrogate::Error must first pass it to exit_status() or require_communication().
class Job {
public:
    /// Initializes MPI (threads: funneled) unless it is initialized.
    Job();
    /// Finalizes MPI if the constructor initialized it. All contexts must be destroyed before.
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    bool is_root() const { return rank_ == 0; }

    Context make_context(const Options& options = {}) const;

    /// Creates a context over the ranks that pass the same `group`, in the order of ranks.
    Context make_group_context(int group, const Options& options = {}) const;

    void barrier() const;
    double max(double value) const;
    int64_t max(int64_t value) const;
    int64_t sum(int64_t value) const;

    /// Returns the text of rank 0 on all ranks.
    std::string broadcast(const std::string& text) const;

    /// Gathers the n_byte bytes of every rank (any number, also 0) on rank 0 in the order of ranks;
    /// empty on other ranks.
    std::vector<std::byte> gather(const void* data, int64_t n_byte) const;

    template <class T>
    std::vector<T> gather(const std::vector<T>& values) const {
        const auto bytes = gather(values.data(), static_cast<int64_t>(values.size() * sizeof(T)));
        std::vector<T> all(bytes.size() / sizeof(T));
        if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
        return all;
    }

    /// Sends each rank the bytes that `make` returns for it on rank 0. They are created one rank
    /// after the other, so that rank 0 has the bytes of only one rank in memory. Returns the bytes
    /// of this rank, "" on rank 0. If `make` throws, every rank throws Failure as in agree().
    std::string scatter(const std::function<std::string(int rank)>& make) const;

    /// Sends to_rank[r] to rank r. Returns the bytes from every rank, in the order of ranks.
    std::vector<std::vector<std::byte>> exchange(
        const std::vector<std::vector<std::byte>>& to_rank) const;

    /// Runs local work that may fail. If it throws on some ranks, every rank throws Failure with
    /// the status and the text of the first of them ("rank 2: ..."); exit_status() gives the status
    /// of a surrogate::Error. `work` must not communicate, except in calls of the library that fail
    /// on all ranks alike.
    void agree(const std::function<void()>& work) const;

    /// Returns the exit status for an error of the library: not_passed for NOT_FINITE, bad_usage
    /// for all others, which come from files and options. Ends all ranks as
    /// require_communication() does.
    Exit exit_status(const Error& error) const;

    /// Ends all ranks through abort() if the error has status MPI or BROKEN; returns otherwise.
    void require_communication(const Error& error) const;

    /// Prints "surrogate: rank r: <text>" to stderr and ends all ranks. For an error that other
    /// ranks do not have if no agreement is possible. Does not communicate.
    [[noreturn]] void abort(const std::string& text) const;

private:
    int rank_ = 0;
    int size_ = 1;
    bool is_owner_ = false;
};

}  // namespace surrogate::tool
