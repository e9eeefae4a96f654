// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "libsurrogate/src/device/device_steps.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"

namespace surrogate::impl {

/// The evaluations of a program: recorded once as a graph and replayed, if the transport allows it,
/// or given to the stream step by step.
class DeviceRecording {
public:
    /// Keeps a reference: `context` must outlive it. Local; throws no_memory, device.
    explicit DeviceRecording(DeviceContext& context) : context_(context), runs_(context) {}

    /// Makes each kind of reduction, gather and exchange once, so that connections exist, then
    /// records. The collectives have capacity for them. `stream`: one of the plan's own. If the
    /// ranks record different numbers of operations because one of them fails, the collectives are
    /// given up on all ranks. Collective, with agreement.
    void prepare(Communicator& comm, const DeviceProgram& program, kernels::Stream stream);

    /// Enqueues one evaluation on the stream. Takes part in all collectives in every case; after a
    /// failure of this rank it sends their failure values. Does not allocate.
    void enqueue(const DeviceProgram& program, kernels::Stream stream, FirstFailure& failure);
    /// Notes that the run ends with the work enqueued on `stream` so far.
    void mark_end(kernels::Stream stream) { runs_.mark_end(stream); }
    /// Enqueues a wait: later work of `stream` begins after the last run.
    void hold(kernels::Stream stream) { runs_.hold(stream); }

    bool is_recorded() const { return runs_.is_recorded(); }
    // Counts of the collectives that the last enqueue() made or replayed.
    int64_t n_collective() const { return n_collective_; }
    int64_t n_byte() const { return n_byte_; }

private:
    void make_connections(Communicator& comm, const DeviceProgram& program, kernels::Stream stream);
    void require_agreement(Communicator& comm, const FirstFailure& failure);

    DeviceContext& context_;
    DeviceRuns runs_;
    int64_t n_recorded_ = 0, recorded_bytes_ = 0;  // of the graph
    int64_t n_collective_ = 0, n_byte_ = 0;
};

}  // namespace surrogate::impl
