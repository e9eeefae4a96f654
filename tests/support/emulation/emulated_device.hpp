// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "kernels/base/error.hpp"
#include "kernels/device/device.hpp"

namespace surrogate::test {

/// A device in host memory, for tests of everything above kernels::Device. Streams are threads that
/// take their work in order, each at its own pace; memory starts as NaN; kernels launched on its
/// streams run by emulation. Calls that CUDA rejects return an error.
///
/// A copy of the object is another handle to the same device. The device is destroyed with its last
/// handle, after its streams have finished their work. The null stream of kernels belongs to the
/// device made last.
class EmulatedDevice : public kernels::Device {
public:
    /// "emulated device" 9.0 with 2 multiprocessors, 227 KiB of shared memory for a block, 1 GiB.
    static kernels::DeviceProperties default_properties();
    explicit EmulatedDevice(const kernels::DeviceProperties& properties = default_properties());

    const kernels::DeviceProperties& properties() const override;
    /// Beyond memory_bytes: no_memory.
    void* allocate(int64_t n_byte) override;
    /// Waits for all streams first, as cudaFree does.
    void release(void* memory) noexcept override;
    void* allocate_pinned(int64_t n_byte) override;
    void release_pinned(void* memory) noexcept override;
    kernels::MemoryPlace where_is(const void* memory) override;
    void copy(void* to, const void* from, int64_t n_byte, kernels::Stream stream) override;
    void write(void* to, const void* from, int64_t n_byte, kernels::Stream stream) override;
    void clear(void* memory, int64_t n_byte, kernels::Stream stream) override;
    kernels::Stream create_stream() override;
    void destroy_stream(kernels::Stream stream) noexcept override;
    kernels::Event create_event() override;
    void destroy_event(kernels::Event event) noexcept override;
    void record(kernels::Event event, kernels::Stream stream) override;
    void wait(kernels::Stream stream, kernels::Event event) override;
    void synchronize(kernels::Stream stream) override;
    bool is_done(kernels::Stream stream) override;
    bool is_captured(kernels::Stream stream) override;
    /// One stream at a time records, and no other stream can join by waiting for its events.
    void begin_capture(kernels::Stream stream) override;
    kernels::Graph end_capture(kernels::Stream stream) override;
    void abandon_capture(kernels::Stream stream) noexcept override;
    void launch(kernels::Graph graph, kernels::Stream stream) override;
    void destroy_graph(kernels::Graph graph) noexcept override;

    // ---- for tests ----

    struct Counts {
        // alive
        int64_t allocations = 0, bytes = 0, pinned_allocations = 0;
        int64_t streams = 0, events = 0, graphs = 0;
        // since the device was made; work recorded into a graph counts once
        int64_t n_allocation = 0, n_pinned_allocation = 0;
        int64_t n_copy = 0, n_write = 0, n_clear = 0, n_launch = 0, n_graph_launch = 0;
        int64_t n_synchronize = 0, n_query = 0, n_wait = 0;
        int64_t n_wrong = 0;  ///< noexcept calls with what is not this device's, or not any more
    };
    Counts counts() const;

    /// Does `work` when the stream comes to it, as kernels are done: what it throws breaks the
    /// device.
    void enqueue(kernels::Stream stream, std::function<void()> work);

    /// The n-th fallible call from now (1: the next one; launches of kernels count) throws
    /// `status`; Status::device also breaks the device. 0: no call does. Returns how many calls
    /// there were since the last fail_at().
    int64_t fail_at(int64_t n, kernels::Status status);
    /// The same, counted from the begin of the next recording, and in that recording only.
    void fail_in_recording(int64_t n, kernels::Status status);

    struct State;

private:
    std::shared_ptr<State> state_;
};

}  // namespace surrogate::test
