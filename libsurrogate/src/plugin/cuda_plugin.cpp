// SPDX-License-Identifier: Apache-2.0
/// The shared object libsurrogate_cuda.so.0.2: device code and the runtime, behind one function.
#include "kernels/device/device_cuda.hpp"
#include "kernels/device/device_table.hpp"
#include "libsurrogate/src/device/device_plugin.hpp"

using surrogate::impl::DevicePlugin;

extern "C" __attribute__((visibility("default"))) const DevicePlugin* surrogate_device_plugin_0_1();

const DevicePlugin* surrogate_device_plugin_0_1() {
    static const DevicePlugin plugin{&surrogate::kernels::cuda::open_device,
                                     &surrogate::kernels::cuda::n_device,
                                     surrogate::kernels::device_tables()};
    return &plugin;
}
