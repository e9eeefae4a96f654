// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/base/device.hpp"
#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl {

/// Reductions over the ranks of numbers that lie on a device: what a run on devices asks of the
/// transport. One transport a context: NCCL, MPI through pinned host memory, or none (one rank).
/// All calls are collective, in the same order on all ranks.
///
/// Failures throw Error(device), Error(mpi), and leave it broken: later calls throw Error(broken)
/// with the first cause at once.
class DeviceCollectives {
public:
    virtual ~DeviceCollectives() = default;

    /// "NCCL 2.27.3", "MPI, staged", "none".
    virtual std::string transport() const = 0;
    /// Why this one was chosen, one line for the table of a plan.
    virtual std::string reason() const = 0;

    /// Whether calls are enqueued on the stream only and may be recorded in a graph. If not, they
    /// wait on the host for what the stream was given before.
    virtual bool is_enqueued() const = 0;

    /// Room for reductions of up to n_byte bytes, so that they take no memory later. Local; throws.
    virtual void reserve(int64_t n_byte) = 0;

    // In place, on device memory. NaN survives sums, not maxima. Sums of int64 are exact.
    virtual void all_reduce_max(float* values, int64_t count, kernels::Stream stream) = 0;
    virtual void all_reduce_sum(float* values, int64_t count, kernels::Stream stream) = 0;
    virtual void all_reduce_sum(int64_t* values, int64_t count, kernels::Stream stream) = 0;

    /// Waits on the host until the stream is done; the only safe way to wait for a stream that was
    /// given reductions: a rank that died would keep a plain wait for ever. Asynchronous errors of
    /// the transport, and more than `timeout_s` seconds without an end (0: no limit), abort it on
    /// this rank and throw Error(device).
    virtual void wait(kernels::Stream stream) = 0;
};

struct NcclApi;  // libsurrogate/src/dist/nccl_api.hpp

/// Chooses the transport. Collective; throws what any rank meets, on all ranks.
///   one rank                                     none
///   every rank has a device of its own, and NCCL is there on all    NCCL
///   otherwise                                    MPI, staged
/// nccl: its functions, or null if `nccl_problem` (the loader's words). comm and device must outlive
/// the result. timeout_s: see wait().
std::unique_ptr<DeviceCollectives> make_device_collectives(Communicator& comm,
                                                           kernels::Device& device,
                                                           const NcclApi* nccl,
                                                           const std::string& nccl_problem,
                                                           double timeout_s);

}  // namespace surrogate::impl
