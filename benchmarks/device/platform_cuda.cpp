// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <string>

#include "benchmarks/device/platform.hpp"
#include "kernels/base/error.hpp"
#include "kernels/device/device_cuda.hpp"

namespace surrogate::benchmarks {
namespace {

using kernels::Error;
using kernels::Status;
using kernels::Stream;

void check(cudaError_t error, const char* what) {
    if (error != cudaSuccess)
        throw Error(Status::device, std::string(what) + ": " + cudaGetErrorString(error));
}

class CudaPlatform final : public Platform {
public:
    explicit CudaPlatform(int index) : device_(kernels::cuda::open_device(index)) {
        check(cudaSetDevice(device_->properties().index), "device");
        check(cudaEventCreate(&first_), "event");
        check(cudaEventCreate(&last_), "event");
    }
    ~CudaPlatform() override {
        cudaEventDestroy(first_);
        cudaEventDestroy(last_);
    }

    kernels::Device& device() override { return *device_; }
    void move(void* to, const void* from, int64_t n_byte) override {
        check(cudaDeviceSynchronize(), "wait for the device");
        check(cudaMemcpy(to, from, static_cast<size_t>(n_byte), cudaMemcpyDefault), "copy");
    }
    void start(Stream stream) override {
        check(cudaEventRecord(first_, static_cast<cudaStream_t>(stream)), "first event");
    }
    double stop_ms(Stream stream) override {
        check(cudaEventRecord(last_, static_cast<cudaStream_t>(stream)), "last event");
        check(cudaEventSynchronize(last_), "wait for the last event");
        float ms = 0;
        check(cudaEventElapsedTime(&ms, first_, last_), "time between events");
        return static_cast<double>(ms);
    }
    const char* name() const override { return "cuda"; }

private:
    std::unique_ptr<kernels::Device> device_;
    cudaEvent_t first_ = nullptr, last_ = nullptr;
};

}  // namespace

std::unique_ptr<Platform> open_platform(int index) {
    return std::make_unique<CudaPlatform>(index);
}

bool is_device_absent() {
    return kernels::cuda::is_device_absent();
}

}  // namespace surrogate::benchmarks
