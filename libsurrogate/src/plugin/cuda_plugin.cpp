// SPDX-License-Identifier: Apache-2.0
/// The shared object libsurrogate_cuda.so.0.1: device code and the runtime, behind one function.
#include "kernels/device/cuda_context.hpp"
#include "kernels/device/device_cuda.hpp"
#include "kernels/flare/flare_device.hpp"
#include "libsurrogate/src/core/device_plugin.hpp"

namespace {

namespace flare = surrogate::kernels::flare;
using surrogate::impl::DevicePlugin;
using surrogate::kernels::DeviceProperties;
using surrogate::kernels::Stream;

#if defined(SURROGATE_HAVE_FLARE_CUDA)
/// A pass, launched with its device as the thread's current one; the caller's comes back.
template <auto pass>
struct OnDevice;
template <class Args,
          void (*flare::DeviceKernels::*pass)(const DeviceProperties&, const Args&, Stream)>
struct OnDevice<pass> {
    static void launch(const DeviceProperties& device, const Args& args, Stream stream) {
        const surrogate::kernels::cuda::PrimaryContext context(device.index);
        const surrogate::kernels::cuda::Current current(context);
        (flare::cuda::kernels().*pass)(device, args, stream);
    }
};

void load(const DeviceProperties& device, surrogate::kernels::Operand operand, int64_t width) {
    const surrogate::kernels::cuda::PrimaryContext context(device.index);
    const surrogate::kernels::cuda::Current current(context);
    flare::cuda::kernels().load(device, operand, width);
}

const flare::DeviceKernels flare_kernels{
    &OnDevice<&flare::DeviceKernels::begin>::launch,
    &OnDevice<&flare::DeviceKernels::encode>::launch,
    &OnDevice<&flare::DeviceKernels::maxima>::launch,
    &OnDevice<&flare::DeviceKernels::sums>::launch,
    &OnDevice<&flare::DeviceKernels::latents>::launch,
    &OnDevice<&flare::DeviceKernels::decode>::launch,
    &OnDevice<&flare::DeviceKernels::end>::launch,
    &load,
};
const flare::DeviceKernels* const flare_table = &flare_kernels;
#else
const flare::DeviceKernels* const flare_table = nullptr;
#endif

const DevicePlugin plugin{&surrogate::kernels::cuda::open_device,
                          &surrogate::kernels::cuda::n_device, flare_table};

}  // namespace

extern "C" __attribute__((visibility("default"))) const DevicePlugin* surrogate_device_plugin_0_1();

const DevicePlugin* surrogate_device_plugin_0_1() {
    return &plugin;
}
