// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libsurrogate/src/device/device_memory.hpp"

namespace surrogate::impl {

class DeviceContext;

/// The runs that one plan gives to the device of its context: their graph, and the end of the last
/// one. The context lists all of them, because NCCL cannot be aborted while a graph holds its
/// operations, and weights cannot be replaced while a run reads them. Local.
class DeviceRuns {
public:
    /// Enters the list of `context`, which must outlive it. Throws no_memory, device.
    explicit DeviceRuns(DeviceContext& context);
    /// Leaves the list. The caller has waited for the runs, or has lost the device.
    ~DeviceRuns();
    DeviceRuns(const DeviceRuns&) = delete;
    DeviceRuns& operator=(const DeviceRuns&) = delete;

    /// Records what `work` enqueues on `stream` as the graph of all runs. Passes on what `work`
    /// throws; the stream is usable afterwards.
    template <class Work>
    void record(kernels::Stream stream, const Work& work) {
        begin(stream);
        try {
            work();
        } catch (...) {
            drop();
            throw;
        }
        end();
    }
    /// Returns true once a graph was recorded, also if it was dropped since.
    bool is_recorded() const { return is_recorded_; }
    /// Enqueues the graph. Throws broken if it was dropped.
    void launch(kernels::Stream stream);
    /// Releases the graph, or ends the recording that is in progress. A launch that is in progress
    /// goes on.
    void drop() noexcept;

    /// Notes that the last run ends with the work enqueued on `stream` so far.
    void mark_end(kernels::Stream stream);
    /// Enqueues a wait: later work of `stream` begins after the last run.
    void hold(kernels::Stream stream);

private:
    void begin(kernels::Stream stream);
    void end();

    DeviceContext& context_;
    kernels::Device& device_;
    DeviceGraph graph_;
    bool is_recorded_ = false;
    kernels::Stream recorded_on_ = nullptr;
    bool is_recording_ = false;
    DeviceEvent end_;
    bool has_end_ = false;
};

}  // namespace surrogate::impl
