// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "kernels/device/device.hpp"
#include "libsurrogate/src/transport/nccl_api.hpp"

namespace surrogate::test {

/// Faults of this rank. Calls are counted from 0; -1 means never.
struct NcclFaults {
    int version = 22703;
    impl::NcclResult unique_id = impl::NcclResult::success;  ///< of ncclGetUniqueId
    impl::NcclResult init = impl::NcclResult::success;       ///< of ncclCommInitRankConfig, at once
    /// Result of ncclCommGetAsyncError once the ranks have synchronized.
    impl::NcclResult late_init = impl::NcclResult::success;
    bool is_missing_at_init = false;  ///< returns in_progress and never joins the others
    int failing_enqueue = -1;         ///< of a reduction, gather or group: returns system_error
    int failing_operation = -1;       ///< carried out on the stream: an asynchronous error, no end
    int dying_operation = -1;         ///< the connections of this rank break, no end
    bool is_death_heard = false;      ///< whether others learn of that (remote_error) or just wait
    int polls_of_enqueue = 0;         ///< that it is in_progress
    bool never_finalizes = false;
};

/// NCCL between the processes of one machine: the functions of NcclApi with NCCL's semantics.
/// Communicators are non-blocking. Reductions run on the stream, in its thread, and use shared
/// memory (the unique id is its name), so that they need neither polling nor MPI; so do the
/// messages of a group. If a rank does not take part, the streams of the others wait until they
/// abort. Sums are added in rank order.
///
/// One object at a time in a process, since NCCL's functions have no context argument. Streams are
/// streams of EmulatedDevice.
class FakeNccl {
public:
    FakeNccl();
    /// Communicators must be gone.
    ~FakeNccl();
    FakeNccl(const FakeNccl&) = delete;
    FakeNccl& operator=(const FakeNccl&) = delete;

    const impl::NcclApi& api() const;
    void set(const NcclFaults& faults);
    /// Tells whether the device is the thread's current one, which calls of NCCL rely on.
    void require_current(std::function<bool()> is_current);

    /// Calls so far: "init", "all_reduce", "all_gather", "group", "finalize", "destroy", "abort".
    int n_call(const std::string& name) const;
    /// Communicators that are not destroyed, and not aborted to the end.
    int n_live() const;
    /// Uses that NCCL's manual forbids: use of a communicator that is gone, a blocking
    /// configuration, calls made while an earlier one was in progress or another device was
    /// current; empty if nothing.
    std::string misuse() const;
};

}  // namespace surrogate::test
