// SPDX-License-Identifier: Apache-2.0
#include "kernels/device/device_cuda.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/device/cuda_context.hpp"
#include "kernels/device/device_images.hpp"
#include "kernels/device/driver_text.hpp"

namespace surrogate::kernels::cuda {
namespace {

std::string words(cudaError_t error) {
    return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

/// Returns true for errors after which every later call of the process fails (CUDA runtime API,
/// type cudaError: "this leaves the process in an inconsistent state"). Sticky errors that are not
/// in the list are detected by a second query: the runtime clears other errors when they are read.
bool is_sticky(cudaError_t error) {
    static constexpr cudaError_t listed[] = {cudaErrorIllegalAddress,
                                             cudaErrorIllegalInstruction,
                                             cudaErrorMisalignedAddress,
                                             cudaErrorInvalidAddressSpace,
                                             cudaErrorInvalidPc,
                                             cudaErrorHardwareStackError,
                                             cudaErrorLaunchFailure,
                                             cudaErrorLaunchTimeout,
                                             cudaErrorAssert,
                                             cudaErrorECCUncorrectable,
                                             cudaErrorNvlinkUncorrectable,
                                             cudaErrorContextIsDestroyed,
                                             cudaErrorCudartUnloading,
                                             cudaErrorUnknown};
    cudaGetLastError();
    return std::find(std::begin(listed), std::end(listed), error) != std::end(listed) ||
           cudaPeekAtLastError() == error;
}

void require(cudaError_t error, Status status, const std::string& asked) {
    if (error == cudaSuccess) return;
    cudaGetLastError();
    throw Error(status, asked + ": " + words(error));
}

std::string runtime_text() {
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    return "CUDA runtime " + cuda_version_text(runtime) + ", driver for " +
           cuda_version_text(driver);
}

/// Returns a text with both versions for an error of the runtime that a newer driver would fix, or
/// "".
std::string driver_text(cudaError_t error) {
    if (error != cudaErrorInsufficientDriver && error != cudaErrorCompatNotSupportedOnDevice)
        return "";
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess) cudaGetLastError();
    return "; " + old_driver_text(CUDART_VERSION, driver);
}

DeviceProperties read_properties(int index) {
    cudaDeviceProp found{};
    require(cudaGetDeviceProperties(&found, index), Status::device,
            "properties of device " + std::to_string(index));
    DeviceProperties properties;
    properties.index = index;
    properties.name = found.name;
    properties.major = found.major;
    properties.minor = found.minor;
    properties.n_multiprocessor = found.multiProcessorCount;
    properties.shared_bytes = static_cast<int64_t>(found.sharedMemPerBlockOptin);
    properties.memory_bytes = static_cast<int64_t>(found.totalGlobalMem);
    std::copy_n(reinterpret_cast<const uint8_t*>(found.uuid.bytes), properties.uuid.size(),
                properties.uuid.begin());
    properties.runtime = runtime_text();
    return properties;
}

/// Lets this thread call the runtime while a stream of the caller is being captured, in this thread
/// or another. The calls concern only streams and memory of this library. Without it a cudaMalloc,
/// or a query of one of its streams, would fail and invalidate the caller's capture.
class RelaxedCapture {
public:
    RelaxedCapture() : is_set_(cudaThreadExchangeStreamCaptureMode(&mode_) == cudaSuccess) {
        if (!is_set_) cudaGetLastError();
    }
    ~RelaxedCapture() {
        if (is_set_) cudaThreadExchangeStreamCaptureMode(&mode_);
    }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

private:
    cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // after the exchange: the previous
                                                                 // mode
    bool is_set_;
};

class CudaDevice final : public Device {
public:
    explicit CudaDevice(const DeviceProperties& properties)
        : properties_(properties), context_(properties.index) {}

    const DeviceProperties& properties() const override { return properties_; }

    void call_as_current(void (*work)(void*), void* context) override {
        throw_if_broken();
        const Current current(context_);
        if (!current.is_set())
            throw Error(Status::device, where("call") + ": its context cannot be made current");
        const RelaxedCapture relaxed;
        work(context);
    }

    void* allocate(int64_t n_byte) override {
        void* memory = nullptr;
        take("device memory", n_byte, [&] { return cudaMalloc(&memory, size(n_byte)); });
        return memory;
    }
    void release(void* memory) noexcept override {
        quietly([&] { return cudaFree(memory); });
    }
    void* allocate_pinned(int64_t n_byte) override {
        void* memory = nullptr;
        take("pinned host memory", n_byte,
             [&] { return cudaHostAlloc(&memory, size(n_byte), cudaHostAllocDefault); });
        return memory;
    }
    void release_pinned(void* memory) noexcept override {
        quietly([&] { return cudaFreeHost(memory); });
    }

    MemoryPlace where_is(const void* memory) override {
        cudaPointerAttributes found{};
        call("question about a pointer", [&] { return cudaPointerGetAttributes(&found, memory); });
        switch (found.type) {
            case cudaMemoryTypeHost: return {MemoryPlace::Kind::pinned};
            case cudaMemoryTypeDevice: return {MemoryPlace::Kind::device, found.device};
            case cudaMemoryTypeManaged: return {MemoryPlace::Kind::managed};
            case cudaMemoryTypeUnregistered: break;
        }
        return {};
    }

    void copy(void* to, const void* from, int64_t n_byte, Stream stream) override {
        call("copy", [&] {
            return cudaMemcpyAsync(to, from, size(n_byte), cudaMemcpyDefault, native(stream));
        });
    }
    /// For pageable memory the runtime reads up to 64 KiB during the call and does not wait ("API
    /// synchronization behavior" of the CUDA runtime API).
    void write(void* to, const void* from, int64_t n_byte, Stream stream) override {
        if (n_byte > write_limit)
            throw Error(Status::internal, "write of " + std::to_string(n_byte) +
                                              " bytes to a device, the limit is 65536");
        call("write", [&] {
            return cudaMemcpyAsync(to, from, size(n_byte), cudaMemcpyHostToDevice, native(stream));
        });
    }
    void clear(void* memory, int64_t n_byte, Stream stream) override {
        call("clear", [&] { return cudaMemsetAsync(memory, 0, size(n_byte), native(stream)); });
    }

    Stream create_stream() override {
        cudaStream_t stream = nullptr;
        call("new stream",
             [&] { return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); });
        return stream;
    }
    void destroy_stream(Stream stream) noexcept override {
        quietly([&] { return cudaStreamDestroy(native(stream)); });
    }

    Event create_event() override {
        cudaEvent_t event = nullptr;
        call("new event", [&] { return cudaEventCreateWithFlags(&event, cudaEventDisableTiming); });
        return event;
    }
    void destroy_event(Event event) noexcept override {
        quietly([&] { return cudaEventDestroy(static_cast<cudaEvent_t>(event)); });
    }
    void record(Event event, Stream stream) override {
        call("record of an event",
             [&] { return cudaEventRecord(static_cast<cudaEvent_t>(event), native(stream)); });
    }
    void wait(Stream stream, Event event) override {
        call("wait for an event", [&] {
            return cudaStreamWaitEvent(native(stream), static_cast<cudaEvent_t>(event), 0);
        });
    }

    void synchronize(Stream stream) override {
        call("wait for a stream", [&] { return cudaStreamSynchronize(native(stream)); });
    }
    bool is_done(Stream stream) override {
        bool is_done = true;
        call("question to a stream", [&] {
            const cudaError_t result = cudaStreamQuery(native(stream));
            is_done = result != cudaErrorNotReady;
            if (is_done) return result;
            cudaGetLastError();  // "not ready" is a result, not an error
            return cudaSuccess;
        });
        return is_done;
    }

    bool is_captured(Stream stream) override {
        cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        call("question about a recording", [&] {
            const cudaError_t result = cudaStreamIsCapturing(native(stream), &status);
            if (result != cudaErrorStreamCaptureImplicit) return result;
            // This happens for the default stream while a stream that waits for it is recorded.
            cudaGetLastError();
            status = cudaStreamCaptureStatusActive;
            return cudaSuccess;
        });
        return status != cudaStreamCaptureStatusNone;
    }

    /// Thread-local mode: the solver's other threads may allocate memory at the same time.
    void begin_capture(Stream stream) override {
        call("begin of a recording", [&] {
            return cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal);
        });
    }
    Graph end_capture(Stream stream) override {
        cudaGraph_t recorded = nullptr;
        call("end of a recording", [&] { return cudaStreamEndCapture(native(stream), &recorded); });
        cudaGraphExec_t graph = nullptr;
        try {
            call("graph of a recording", [&] { return cudaGraphInstantiate(&graph, recorded, 0); });
            call("upload of a graph", [&] { return cudaGraphUpload(graph, native(stream)); });
        } catch (...) {
            if (graph) destroy_graph(graph);
            quietly([&] { return cudaGraphDestroy(recorded); });
            throw;
        }
        quietly([&] { return cudaGraphDestroy(recorded); });
        return graph;
    }
    void abandon_capture(Stream stream) noexcept override {
        cudaGraph_t recorded = nullptr;
        quietly([&] { return cudaStreamEndCapture(native(stream), &recorded); });
        if (recorded) quietly([&] { return cudaGraphDestroy(recorded); });
    }
    void launch(Graph graph, Stream stream) override {
        call("launch of a graph",
             [&] { return cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), native(stream)); });
    }
    void destroy_graph(Graph graph) noexcept override {
        quietly([&] { return cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); });
    }

private:
    static constexpr int64_t write_limit = 64 * 1024;

    static size_t size(int64_t n_byte) { return static_cast<size_t>(n_byte); }
    static cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream); }

    /// Makes one call of the runtime. Throws if it fails; an error that makes the device unusable
    /// is stored.
    template <class Call>
    cudaError_t attempt(const char* what, const Call& function) {
        throw_if_broken();
        const Current current(context_);
        if (!current.is_set())
            throw Error(Status::device, where(what) + ": its context cannot be made current");
        const RelaxedCapture relaxed;
        const cudaError_t error = function();
        if (error == cudaSuccess) return error;
        if (is_sticky(error)) break_down(where(what) + ": " + words(error));
        return error;
    }
    template <class Call>
    void call(const char* what, const Call& function) {
        const cudaError_t error = attempt(what, function);
        if (error == cudaErrorMemoryAllocation)
            throw Error(Status::no_memory, where(what) + ": " + words(error) + free_text());
        if (error != cudaSuccess) throw Error(Status::device, where(what) + ": " + words(error));
    }
    template <class Call>
    void take(const char* kind, int64_t n_byte, const Call& function) {
        const cudaError_t error = attempt(kind, function);
        const std::string asked = std::to_string(n_byte) + " bytes of " + kind + " requested, ";
        if (error == cudaErrorMemoryAllocation)
            throw Error(Status::no_memory, where(asked.c_str()) + words(error) + free_text());
        if (error != cudaSuccess) throw Error(Status::device, where(asked.c_str()) + words(error));
    }
    /// Makes a call of the runtime in a destructor. A failure is not reported, but the device may
    /// be marked as broken.
    template <class Call>
    void quietly(const Call& function) noexcept {
        const Current current(context_);
        if (!current.is_set()) return;
        const RelaxedCapture relaxed;
        const cudaError_t error = function();
        if (error == cudaSuccess) return;
        try {
            if (is_sticky(error)) note_breakdown(where("release") + ": " + words(error));
        } catch (...) {  // no memory for the text: the next call gets the same error
        }
    }

    std::string where(const char* what) const {
        return "device " + std::to_string(properties_.index) + " (" + properties_.name + "), " +
               what;
    }
    std::string free_text() const {
        const Current current(context_);
        size_t n_free = 0, n_total = 0;
        if (cudaMemGetInfo(&n_free, &n_total) != cudaSuccess) {
            cudaGetLastError();
            return "";
        }
        return "; " + std::to_string(n_free) + " of " + std::to_string(n_total) +
               " bytes of the device are free";
    }

    void throw_if_broken() {
        if (!is_broken_) return;
        const std::lock_guard lock(mutex_);
        throw Error(Status::broken, "the device is unusable after an earlier failure: " + cause_);
    }
    void note_breakdown(const std::string& cause) {
        const std::lock_guard lock(mutex_);
        if (cause_.empty()) cause_ = cause;
        is_broken_ = true;
    }
    [[noreturn]] void break_down(const std::string& cause) {
        note_breakdown(cause);
        throw Error(Status::device, cause + "; this process cannot use the device any more");
    }

    const DeviceProperties properties_;
    const PrimaryContext context_;
    std::atomic<bool> is_broken_ = false;
    std::mutex mutex_;  ///< guards cause_
    std::string cause_;
};

}  // namespace

int n_device() {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    cudaGetLastError();
    return 0;
}

bool is_device_absent() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver) return true;  // never closed, because the driver keeps threads of its own
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    cudaGetLastError();
    return error == cudaErrorNoDevice || (error == cudaSuccess && count == 0);
}

std::unique_ptr<Device> open_device(int index) {
    int count = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
        cudaGetLastError();
        throw Error(Status::not_supported,
                    "no CUDA device can be used: " + words(error) + driver_text(error));
    }
    if (count == 0)
        throw Error(Status::not_supported,
                    "no CUDA device is visible to this process; see CUDA_VISIBLE_DEVICES");
    if (index == -1) index = current_index();
    if (index < 0 || index >= count)
        throw Error(Status::not_supported,
                    "device index is " + std::to_string(index) + ", expected an index below " +
                        std::to_string(count) + ", the number of visible devices");
    const DeviceProperties properties = read_properties(index);
    if (!has_image_for(SURROGATE_CUDA_IMAGES, properties.major, properties.minor))
        throw Error(Status::not_supported,
                    properties.name + " has compute capability " +
                        std::to_string(properties.major) + "." + std::to_string(properties.minor) +
                        ", device code was compiled for " + SURROGATE_CUDA_IMAGES +
                        "; see SURROGATE_CUDA_ARCHITECTURES");
    return std::make_unique<CudaDevice>(properties);
}

void check_launch(const char* kernel) {
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
        throw Error(Status::device, std::string("launch of ") + kernel + ": " + words(error));
}

}  // namespace surrogate::kernels::cuda
