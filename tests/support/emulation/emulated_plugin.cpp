// SPDX-License-Identifier: Apache-2.0
#include "emulated_plugin.hpp"

#include "kernels/device/device_table.hpp"

namespace surrogate::test {

EmulatedDevice& emulated_device() {
    static EmulatedDevice device;
    return device;
}

const impl::DevicePlugin& emulated_plugin() {
    static const impl::DevicePlugin plugin = [] {
        impl::DevicePlugin result;
        result.open = [](int index) -> std::unique_ptr<kernels::Device> {
            if (index > 0)
                throw kernels::Error(
                    kernels::Status::not_supported,
                    "device " + std::to_string(index) + " asked, but there is one emulated device");
            return std::make_unique<EmulatedDevice>(emulated_device());
        };
        result.n_device = [] { return 1; };
        result.tables = kernels::device_tables();
        return result;
    }();
    return plugin;
}

}  // namespace surrogate::test
