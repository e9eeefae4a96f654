// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/base/error.hpp"
#include "kernels/device/cuda.cuh"
#include "kernels/device/device_cuda.hpp"
#include "kernels/device/operand.hpp"

/// Selection, loading and launch of the instance of a kernel for arguments known at run time.
namespace surrogate::kernels::cuda {

/// Calls body<operand>() for the instance that matches.
template <class Body>
void with_operand(Operand operand, const Body& body) {
    switch (operand) {
        case Operand::fp32: body.template operator()<Operand::fp32>(); break;
        case Operand::tf32: body.template operator()<Operand::tf32>(); break;
        case Operand::fp16: body.template operator()<Operand::fp16>(); break;
        case Operand::bf16: body.template operator()<Operand::bf16>(); break;
    }
}
/// Calls body<operand, width>() for the instance that matches; width is 64 or 128.
template <class Body>
void with_instance(Operand operand_, int64_t width, const Body& body) {
    with_operand(operand_, [&]<Operand operand>() {
        if (width == 64) {
            body.template operator()<operand, 64>();
        } else {
            body.template operator()<operand, 128>();
        }
    });
}

inline void check(cudaError_t error, const char* kernel) {
    if (error == cudaSuccess) return;
    cudaGetLastError();  // cleared: it is reported here, not by the next launch
    throw Error(Status::device, std::string("kernel '") + kernel +
                                    "' could not be launched: " + cudaGetErrorString(error));
}

/// Runs or loads a pass with its device current in the calling thread.
template <auto pass>
struct OnDevice;
template <class... Args, void (*pass)(const DeviceProperties&, Args...)>
struct OnDevice<pass> {
    static void call(const DeviceProperties& device, Args... args) {
        const CurrentDevice current(device.index);
        pass(device, args...);
    }
};

/// Loads a kernel and allows it all the shared memory of the device. The limit belongs to the
/// function: a limit set per launch could fall between another plan's limit and its launch.
template <class Kernel>
void load_kernel(const DeviceProperties& device, Kernel kernel, const char* name) {
    check(allow_shared(kernel, device.shared_bytes), name);
}

/// Returns the number of blocks of a pass over points that keeps no sums.
inline unsigned pass_blocks(const DeviceProperties& device, int64_t n_point, int64_t rows) {
    const int64_t n_unit = (n_point + rows - 1) / rows;
    return static_cast<unsigned>(n_unit < device.n_multiprocessor ? n_unit
                                                                  : device.n_multiprocessor);
}

}  // namespace surrogate::kernels::cuda
