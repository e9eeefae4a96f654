// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace surrogate::kernels {

/// Work on a device in the order it was given: a cudaStream_t. Null is the device's default stream.
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
    int64_t shared_bytes = 0;  ///< shared memory a block may ask for
    int64_t memory_bytes = 0;
    std::array<uint8_t, 16> uuid{};  ///< tells whether two ranks hold the same device
    std::string runtime;             ///< versions of driver and runtime, for a log
};

/// The kind of memory that a pointer of a caller's refers to.
struct MemoryPlace {
    enum class Kind {
        host,     ///< memory of the host that the device does not know
        pinned,   ///< memory of the host, registered with the runtime
        device,   ///< memory of device `index`
        managed,  ///< memory that both may use
    };
    Kind kind = Kind::host;
    int index = -1;  ///< as the runtime counts devices; Kind::device only
};

/// One device and its runtime: the dozen calls that everything above needs, and the seam where
/// tests put a device of their own. Implementations: CUDA (device_cuda.cu, in the plug-in), an
/// emulated one in tests/support.
///
/// Every call leaves the caller's current device as it was. "Enqueued" calls return before the work
/// is done. Failures throw Error: no_memory if memory ran out (the device stays usable), device if
/// a call failed, broken if an earlier failure left the device unusable (with the text of the
/// first). Functions marked noexcept are for destructors: they release what they can.
class Device {
public:
    virtual ~Device() = default;

    virtual const DeviceProperties& properties() const = 0;

    /// Calls work(context) while this device is the calling thread's current one, for libraries
    /// that ask the runtime for it (NCCL); what work throws passes through. A runtime without a
    /// current device just calls. Once work has begun this object is not used any more: work may
    /// outlive it.
    virtual void call_as_current(void (*work)(void*), void* context) { work(context); }

    /// Memory on the device, at least 256-byte aligned, contents unspecified. n_byte > 0.
    virtual void* allocate(int64_t n_byte) = 0;
    virtual void release(void* memory) noexcept = 0;

    /// Host memory that the device copies to and from without a detour.
    virtual void* allocate_pinned(int64_t n_byte) = 0;
    virtual void release_pinned(void* memory) noexcept = 0;

    /// Finds out what a pointer refers to. Touches neither the memory nor any stream.
    virtual MemoryPlace where_is(const void* memory) = 0;

    /// Enqueued copy between any two of: device memory, pinned host memory. The host's part belongs
    /// to the copy until the stream has passed it.
    virtual void copy(void* to, const void* from, int64_t n_byte, Stream stream) = 0;

    /// Enqueued copy of a few bytes (at most 64 KiB) from any host memory: they are taken during
    /// the call. Not while a graph is recorded.
    virtual void write(void* to, const void* from, int64_t n_byte, Stream stream) = 0;

    /// Enqueued: n_byte bytes of device memory become zero.
    virtual void clear(void* memory, int64_t n_byte, Stream stream) = 0;

    /// A stream that does not wait for the default stream.
    virtual Stream create_stream() = 0;
    virtual void destroy_stream(Stream stream) noexcept = 0;

    virtual Event create_event() = 0;
    virtual void destroy_event(Event event) noexcept = 0;
    virtual void record(Event event, Stream stream) = 0;
    /// Enqueued: what `stream` does next waits for the event.
    virtual void wait(Stream stream, Event event) = 0;

    /// Waits on the host until the stream is done. Throws what the work itself brought up.
    virtual void synchronize(Stream stream) = 0;
    /// The same question without waiting.
    virtual bool is_done(Stream stream) = 0;

    /// Returns true if work given to `stream` is being recorded into a graph, by whoever began it.
    /// The recording stays valid; is_done() and synchronize() would end it with an error.
    virtual bool is_captured(Stream stream) = 0;

    /// Work given to `stream` between the two calls is recorded, not done. abandon_capture() ends a
    /// recording that failed.
    virtual void begin_capture(Stream stream) = 0;
    virtual Graph end_capture(Stream stream) = 0;
    virtual void abandon_capture(Stream stream) noexcept = 0;
    virtual void launch(Graph graph, Stream stream) = 0;
    virtual void destroy_graph(Graph graph) noexcept = 0;
};

}  // namespace surrogate::kernels
