// SPDX-License-Identifier: Apache-2.0
#include "kernels/device/cuda_context.hpp"

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <string>

#include "kernels/base/error.hpp"

namespace surrogate::kernels::cuda {
namespace {

/// The few functions of the driver that have no equivalent in the runtime, by the names of the
/// driver's binary interface. The library is never closed, because the driver keeps threads of its
/// own.
struct Driver {
    CUresult (*retain)(CUcontext*, CUdevice) = nullptr;
    CUresult (*release)(CUdevice) = nullptr;
    CUresult (*push)(CUcontext) = nullptr;
    CUresult (*pop)(CUcontext*) = nullptr;
    CUresult (*current)(CUcontext*) = nullptr;
    CUresult (*device)(CUdevice*) = nullptr;

    static const Driver& instance() {
        static const Driver driver;
        return driver;
    }

private:
    Driver() {
        void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            const char* reason = dlerror();
            throw Error(Status::not_supported,
                        std::string("the CUDA driver cannot be loaded: ") + (reason ? reason : ""));
        }
        find(library, "cuDevicePrimaryCtxRetain", retain);
        find(library, "cuDevicePrimaryCtxRelease_v2", release);
        find(library, "cuCtxPushCurrent_v2", push);
        find(library, "cuCtxPopCurrent_v2", pop);
        find(library, "cuCtxGetCurrent", current);
        find(library, "cuCtxGetDevice", device);
    }

    template <class Function>
    static void find(void* library, const char* symbol, Function& function) {
        function = reinterpret_cast<Function>(dlsym(library, symbol));
        if (!function)
            throw Error(Status::not_supported,
                        std::string("the CUDA driver has no function ") + symbol);
    }
};

}  // namespace

PrimaryContext::PrimaryContext(int index) : index_(index) {
    CUcontext context = nullptr;
    const CUresult result = Driver::instance().retain(&context, index);
    const std::string which = " context on device " + std::to_string(index);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        throw Error(Status::no_memory, "out of memory for a" + which);
    if (result != CUDA_SUCCESS)
        throw Error(Status::device, "no" + which + ": CUDA driver error " +
                                        std::to_string(static_cast<int>(result)));
    context_ = context;
}

PrimaryContext::~PrimaryContext() {
    Driver::instance().release(index_);
}

Current::Current(const PrimaryContext& context) noexcept
    : is_set_(Driver::instance().push(static_cast<CUcontext>(context.get())) == CUDA_SUCCESS) {}

Current::~Current() {
    CUcontext popped = nullptr;
    if (is_set_) Driver::instance().pop(&popped);
}

int current_index() {
    const Driver& driver = Driver::instance();
    CUcontext context = nullptr;
    CUdevice device = 0;
    if (driver.current(&context) == CUDA_SUCCESS && context &&
        driver.device(&device) == CUDA_SUCCESS)
        return device;
    int index = 0;
    if (const cudaError_t error = cudaGetDevice(&index); error != cudaSuccess) {
        cudaGetLastError();
        throw Error(Status::device,
                    std::string("current device of the thread: ") + cudaGetErrorString(error));
    }
    return index;
}

}  // namespace surrogate::kernels::cuda
