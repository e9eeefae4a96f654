// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "kernels/device/device.hpp"
#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl {

/// Data that a rank sends to the others, or receives from them: a part for each rank, side by side
/// in device memory in the order of ranks. The own part is empty.
struct DeviceParts {
    void* data = nullptr;
    std::span<const int64_t> n_bytes;  ///< (ranks)

    int64_t bytes() const { return std::accumulate(n_bytes.begin(), n_bytes.end(), int64_t{0}); }
};

/// Reductions, gathers and exchanges over the ranks of numbers that lie on a device: what a run on
/// devices asks of the transport. One transport a context: NCCL, MPI through pinned host memory, or
/// none (one rank). All are collective, in the same order on all ranks, with the same counts. Two
/// of them are never under way at once: before a call on another stream than the last one's, the
/// caller lets that stream wait for the last one (Device::wait on an event).
///
/// Failures throw Error(device), Error(mpi), and leave it broken: later calls throw Error(broken)
/// with the first cause at once. What the other ranks see of a rank that failed:
///   NCCL      an asynchronous error where NCCL learns of it (a lost connection), else the end of
///             the time limit; either in wait(), check() or the next reduction. Without a limit
///             they wait for a rank that never comes, as with MPI.
///   staged    a device that fails on one rank breaks the reduction on all ranks, or the next one
///             if it failed in taking the sums back; so that rank goes on calling until all are
///             broken, with what it has.
class DeviceCollectives {
public:
    virtual ~DeviceCollectives() = default;

    /// Returns "NCCL 2.27.3", "MPI, staged", "none".
    virtual std::string transport() const = 0;
    /// Returns the reason for this transport, one line for the table of a plan.
    virtual std::string reason() const = 0;

    /// Returns whether calls are enqueued on the stream only and may be recorded in a graph, which
    /// must go before this object does, and after a failure when before_abort() says so. If not,
    /// they wait on the host for what the stream was given before.
    virtual bool is_enqueued() const = 0;

    /// Allocates buffers for reductions of up to n_byte bytes, so that they do not allocate later;
    /// larger reductions throw. Local; throws. A transport that connects at the first call
    /// allocates during that call and cannot be recorded, so a plan makes each of its calls once
    /// and waits before it records.
    virtual void reserve(int64_t n_byte) = 0;
    /// Allocates buffers for gathers of up to n_byte bytes per rank.
    virtual void reserve_gather(int64_t n_byte) = 0;
    /// Allocates for exchanges in which this rank gives and takes so many bytes.
    virtual void reserve_exchange(int64_t n_given, int64_t n_taken) = 0;

    // In place, on device memory. NaN survives sums, not maxima. Sums of int64 are exact.
    void all_reduce_max(float* values, int64_t count, kernels::Stream stream);
    void all_reduce_sum(float* values, int64_t count, kernels::Stream stream);
    void all_reduce_sum(int64_t* values, int64_t count, kernels::Stream stream);

    /// Parts of n_byte bytes of all ranks side by side in `values`, in the order of ranks, where
    /// this rank's own part is already.
    void all_gather(void* values, int64_t n_byte, kernels::Stream stream);

    /// Sends given.n_bytes[r] bytes to rank r and receives taken.n_bytes[r] from it: of two ranks
    /// one takes what the other gives. Halos, gathers of different sizes and rings are exchanges.
    /// All ranks call it, also ranks without parts. The two memories do not overlap.
    void exchange(const DeviceParts& given, const DeviceParts& taken, kernels::Stream stream);

    /// Throws if it is broken or its transport has reported an error meanwhile: to be called before
    /// a graph that holds reductions is launched. Staged ones are broken on all ranks or on none.
    /// Local, does not wait.
    virtual void check() = 0;

    /// Waits on the host until the stream is done; the only safe way to wait for a stream that was
    /// given reductions: a rank that died would keep a plain wait for ever. Asynchronous errors of
    /// the transport, and more than `timeout_s` seconds without an end (0: no limit), abort it on
    /// this rank and throw Error(device).
    virtual void wait(kernels::Stream stream) = 0;

    /// Keeps `release`, which must not throw, for failures: it is called before the transport is
    /// aborted, and destroys all graphs that hold operations of the transport. NCCL waits for them
    /// when it is aborted.
    void before_abort(std::function<void()> release) { release_graphs_ = std::move(release); }

    /// Makes the transport unusable on this rank, with this cause, as a failure of it does. Local.
    /// For failures after which ranks do not agree on the operations so far; transports that do not
    /// record have no such failures.
    virtual void give_up(const char*) noexcept {}

    // Counters as in Communicator, for data that the communicator does not count itself. The sum of
    // both is correct for every transport. A launch of a graph is counted by count_launch().
    int64_t bytes_sent() const { return bytes_sent_; }
    int64_t n_collective() const { return n_collective_; }
    void reset_counters() { bytes_sent_ = n_collective_ = 0; }
    /// Counts the launch of a graph with n_collective reductions of n_byte bytes in all. Recording
    /// them counted them once, though nothing was sent then.
    void count_launch(int64_t n_byte, int64_t n_collective);

protected:
    enum class Type { float32, int64 };
    enum class Reduction { max, sum };
    virtual void do_all_reduce(void* values, int64_t count, Type type, Reduction reduction,
                               kernels::Stream stream) = 0;
    virtual void do_all_gather(void* values, int64_t n_byte, kernels::Stream stream) = 0;
    virtual void do_exchange(const DeviceParts& given, const DeviceParts& taken,
                             kernels::Stream stream) = 0;
    /// Returns whether these go through the communicator, which counts them.
    virtual bool is_counted_by_communicator() const { return false; }
    void release_graphs() noexcept {
        if (release_graphs_) release_graphs_();
    }

private:
    void all_reduce(void* values, int64_t count, Type type, Reduction reduction,
                    kernels::Stream stream);
    std::function<void()> release_graphs_;
    int64_t bytes_sent_ = 0;
    int64_t n_collective_ = 0;
};

/// Makes the collectives of a context. Collective; throws on all ranks what any rank throws. Both
/// arguments must outlive the result. timeout_s: see DeviceCollectives::wait().
using DeviceCollectivesFactory = std::function<std::unique_ptr<DeviceCollectives>(
    Communicator& comm, kernels::Device& device, double timeout_s)>;

}  // namespace surrogate::impl
