// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "libsurrogate/src/device/device_collectives.hpp"
#include "libsurrogate/src/transport/nccl_api.hpp"

namespace surrogate::impl {

/// Chooses the transport. Collective; throws what any rank meets, on all ranks.
///   one rank                                     none
///   every rank has a device of its own, and NCCL is there on all    NCCL
///   otherwise                                    MPI, staged
/// nccl: the functions of NCCL, or null with the reason in `nccl_problem` (the loader's message).
/// comm and device must outlive the result. timeout_s: see wait(). If NCCL is present and fails to
/// start, that is an error; MPI is not used instead. A caller that wants MPI passes null and a
/// reason in nccl_problem.
std::unique_ptr<DeviceCollectives> make_device_collectives(Communicator& comm,
                                                           kernels::Device& device,
                                                           const NcclApi* nccl,
                                                           const std::string& nccl_problem,
                                                           double timeout_s);

/// Finds the functions of NCCL, or returns null with the reason in `problem`; as load_nccl().
using NcclLoader = const NcclApi* (*)(std::string& problem);

/// Returns make_device_collectives() with the NCCL that `loader` finds, which is called on several
/// ranks only; null: NCCL is not used.
DeviceCollectivesFactory collectives_with(NcclLoader loader);

/// Polling with an end: asks in quick succession first, then about every 50 microseconds, so that
/// short waits stay short and long ones leave the core to others.
class Polling {
public:
    /// Starts the clock. limit_s = 0: no limit.
    explicit Polling(double limit_s) : limit_s_(limit_s) {}

    /// Waits a little; false if the limit has passed.
    bool pause();

private:
    double limit_s_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Returns "30 s" for texts.
std::string seconds_text(double seconds);

/// Waits on the host; whether the stream is done within limit_s seconds (0: no limit). Throws what
/// the stream's work brought up.
bool is_done_within(kernels::Device& device, kernels::Stream stream, double limit_s);

/// Throws Error(device): timeout_s seconds have passed.
[[noreturn]] void throw_late(double timeout_s);

/// Waits with is_done_within() and calls throw_late(), for a stream that no transport delays.
void wait_for_stream(kernels::Device& device, kernels::Stream stream, double timeout_s);

/// Calls body(rank, data, n_byte) for each part that is not empty.
template <class Body>
void for_parts(const DeviceParts& parts, const Body& body) {
    char* data = static_cast<char*>(parts.data);
    for (size_t rank = 0; rank < parts.n_bytes.size(); ++rank) {
        const int64_t n_byte = parts.n_bytes[rank];
        if (n_byte > 0) body(static_cast<int>(rank), data, static_cast<size_t>(n_byte));
        data += n_byte;
    }
}

/// Makes collectives that send through pinned host memory by MPI. Local.
std::unique_ptr<DeviceCollectives> make_staged_collectives(Communicator& comm,
                                                           kernels::Device& device,
                                                           std::string reason, double timeout_s);

/// Makes collectives of NCCL; every rank has a device of its own and the same version. Collective;
/// throws the same on all ranks: the error of the first rank that failed by itself rather than by
/// waiting for another.
std::unique_ptr<DeviceCollectives> make_nccl_collectives(Communicator& comm,
                                                         kernels::Device& device,
                                                         const NcclApi& nccl, std::string reason,
                                                         double timeout_s);

}  // namespace surrogate::impl
