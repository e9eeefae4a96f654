// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace surrogate::kernels {

/// A queue of work on a device that runs in order: a cudaStream_t. Null is the device's default
/// stream.
using Stream = void*;

/// A point in a stream that other streams can wait for: a cudaEvent_t without timing.
using Event = void*;

/// Work recorded once and launched as one: a cudaGraphExec_t.
using Graph = void*;

struct DeviceProperties {
    int index = 0;     ///< as the runtime counts devices
    std::string name;  ///< "NVIDIA H200"
    int major = 0, minor = 0;
    int n_multiprocessor = 0;
    int64_t shared_bytes = 0;  ///< largest shared memory of a block
    int64_t memory_bytes = 0;
    /// Identifies the device: equal on two ranks that use the same device.
    std::array<uint8_t, 16> uuid{};
    std::string runtime;  ///< versions of driver and runtime, for a log
};

/// The kind of memory that a caller's pointer refers to.
struct MemoryPlace {
    enum class Kind {
        host,     ///< host memory that is not registered with the runtime
        pinned,   ///< host memory that is registered with the runtime
        device,   ///< memory of device `index`
        managed,  ///< memory that host and device may use
    };
    Kind kind = Kind::host;
    int index = -1;  ///< as the runtime counts devices; Kind::device only
};

/// One device and its runtime: the dozen calls that the rest of the library needs. Tests implement
/// this interface with a device of their own. Implementations: CUDA (device_cuda.cpp, in the
/// plug-in), an emulated one in tests/support.
///
/// Every call restores the caller's current device. "Enqueued" calls return before the work is
/// done. Failures throw Error: no_memory if memory is exhausted (the device stays usable), device
/// if a call failed, broken if an earlier failure left the device unusable (with the text of the
/// first failure). Functions marked noexcept are for destructors: they release as much as possible.
class Device {
public:
    virtual ~Device() = default;

    virtual const DeviceProperties& properties() const = 0;

    /// Calls work(context) while this device is current in the calling thread, for libraries that
    /// ask the runtime for the current device (NCCL). Exceptions of `work` pass through. A runtime
    /// without a current device just calls it. After `work` has begun, this object is not used any
    /// more: `work` may outlive it.
    virtual void call_as_current(void (*work)(void*), void* context) { work(context); }

    /// Allocates memory on the device, at least 256-byte aligned, contents unspecified. n_byte > 0.
    virtual void* allocate(int64_t n_byte) = 0;
    virtual void release(void* memory) noexcept = 0;

    /// Allocates pinned host memory, which the device copies to and from directly.
    virtual void* allocate_pinned(int64_t n_byte) = 0;
    virtual void release_pinned(void* memory) noexcept = 0;

    /// Returns the kind of memory that a pointer refers to. Accesses neither the memory nor any
    /// stream.
    virtual MemoryPlace where_is(const void* memory) = 0;

    /// Enqueues a copy between any two of: device memory, pinned host memory. The host memory must
    /// stay unchanged until the stream has finished the copy.
    virtual void copy(void* to, const void* from, int64_t n_byte, Stream stream) = 0;

    /// Enqueues a copy of a few bytes (at most 64 KiB) from any host memory, which is read during
    /// the call. Not allowed while a graph is recorded.
    virtual void write(void* to, const void* from, int64_t n_byte, Stream stream) = 0;

    /// Enqueues the clearing of n_byte bytes of device memory to zero.
    virtual void clear(void* memory, int64_t n_byte, Stream stream) = 0;

    /// Creates a stream that does not wait for the default stream.
    virtual Stream create_stream() = 0;
    virtual void destroy_stream(Stream stream) noexcept = 0;

    virtual Event create_event() = 0;
    virtual void destroy_event(Event event) noexcept = 0;
    virtual void record(Event event, Stream stream) = 0;
    /// Makes later work on `stream` wait for the event. Enqueued.
    virtual void wait(Stream stream, Event event) = 0;

    /// Blocks the host until the stream is done. Throws the errors of the work itself.
    virtual void synchronize(Stream stream) = 0;
    /// Returns true if the stream is done; does not block. Throws like synchronize().
    virtual bool is_done(Stream stream) = 0;

    /// Returns true if work given to `stream` is being recorded into a graph, by this library or by
    /// other code. The recording stays valid; is_done() and synchronize() would end it with an
    /// error.
    virtual bool is_captured(Stream stream) = 0;

    /// Begins a recording: work given to `stream` until end_capture() is recorded, not executed.
    /// abandon_capture() ends a recording that failed.
    virtual void begin_capture(Stream stream) = 0;
    virtual Graph end_capture(Stream stream) = 0;
    virtual void abandon_capture(Stream stream) noexcept = 0;
    virtual void launch(Graph graph, Stream stream) = 0;
    virtual void destroy_graph(Graph graph) noexcept = 0;
};

}  // namespace surrogate::kernels
