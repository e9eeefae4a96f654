// SPDX-License-Identifier: Apache-2.0
/// The shared object libsurrogate_cuda.so: device code and the runtime, behind one function.
#include "kernels/base/device_cuda.hpp"
#include "libsurrogate/src/core/device_plugin.hpp"

namespace {

using surrogate::impl::DevicePlugin;

const DevicePlugin plugin{&surrogate::kernels::cuda::open_device,
                          &surrogate::kernels::cuda::n_device, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const DevicePlugin* surrogate_device_plugin_0_1();

const DevicePlugin* surrogate_device_plugin_0_1() {
    return &plugin;
}
