// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "libsurrogate/src/device/device_steps.hpp"
#include "libsurrogate/src/model/device_program.hpp"

namespace surrogate::impl {

/// The evaluations of a program: recorded once as a graph and replayed, if the transport allows it,
/// or given to the stream step by step.
class DeviceRecording {
public:
    /// Collective, with agreement: each kind of reduction, gather and exchange once, so that
    /// connections are made, then the recording. The collectives have room for them. `stream`: one
    /// of the plan's own.
    void prepare(DeviceContext& context, Communicator& comm, const DeviceProgram& program,
                 kernels::Stream stream);

    /// Gives one evaluation to the stream. Takes part in all collectives whatever happens; after a
    /// failure of this rank it sends their poison. Allocates nothing.
    void enqueue(DeviceContext& context, const DeviceProgram& program, kernels::Stream stream,
                 FirstFailure& failure);

    bool is_recorded() const { return static_cast<bool>(graph_); }
    // Of the collectives that the last enqueue() made or replayed.
    int64_t n_collective() const { return n_collective_; }
    int64_t n_byte() const { return n_byte_; }

private:
    DeviceGraph graph_;
    int64_t n_recorded_ = 0, recorded_bytes_ = 0;  // of the graph
    int64_t n_collective_ = 0, n_byte_ = 0;
};

}  // namespace surrogate::impl
