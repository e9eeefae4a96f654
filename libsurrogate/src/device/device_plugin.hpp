// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/device/device.hpp"
#include "kernels/device/device_table.hpp"

namespace surrogate::impl {

/// Interface of device code to the library. Device code is a shared object of its own, so that the
/// library itself needs nothing of a vendor's; tests offer an emulated device in the same form.
struct DevicePlugin {
    /// Opens device `index`, or with -1 the one that is current in the calling thread. Throws
    /// not_supported (no driver, no device, an architecture that was not compiled), device.
    std::unique_ptr<kernels::Device> (*open)(int index) = nullptr;
    int (*n_device)() = nullptr;
    /// Kernels of the families that have device code, each in the form of its own header.
    std::span<const kernels::DeviceTable> tables = {};
};

/// Returns the kernels of a family in the plug-in, a structure of n_byte bytes. Throws
/// not_supported if the plug-in does not contain the family, or was built for a different library
/// build.
const void* find_kernels(const DevicePlugin& plugin, const std::string& family, int64_t n_byte);

/// Name of the plug-in's only symbol: extern "C" const DevicePlugin* surrogate_device_plugin_0_1(),
/// with the library's version at the end, so that an older file is never taken for this one.
inline constexpr const char* device_plugin_symbol = "surrogate_device_plugin_0_1";

/// Its file, named as a library with the soname of this version would be: versions that lie side by
/// side open their own.
inline constexpr const char* device_plugin_file = "libsurrogate_cuda.so.0.2";

/// Opens device_plugin_file, once per process: beside the library, then where the loader looks.
/// Throws not_supported with what the loader said for each place, and again when asked again.
const DevicePlugin& load_device_plugin();

/// Loads the first of these files that is a plug-in. The result is not cached. A name with a slash
/// is a path; other names are searched by the loader.
const DevicePlugin& load_device_plugin_from(std::span<const std::string> files);

}  // namespace surrogate::impl
