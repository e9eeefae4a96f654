// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace surrogate::kernels {

/// Returns "13.0" for CUDA's version number 13000.
inline std::string cuda_version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Returns the oldest driver for Linux that runs programs built with CUDA `version`, or "". All
/// minor versions of a major version have the same oldest driver (CUDA release notes, table "CUDA
/// Toolkit and Minimum Required NVIDIA Driver Version for CUDA Minor Version Compatibility").
inline std::string oldest_driver(int version) {
    switch (version / 1000) {
        case 12: return "525.60.13";
        case 13: return "580.65.06";
        default: return "";
    }
}

/// Returns a text about a driver that is too old, or missing. built, driver: CUDA's version numbers
/// of the runtime and of the newest runtime that the driver supports; driver 0: none is installed.
inline std::string old_driver_text(int built, int driver) {
    const std::string oldest = oldest_driver(built);
    return "device code is built for CUDA " + cuda_version_text(built) +
           (oldest.empty() ? "" : " (driver " + oldest + " or newer)") + ", " +
           (driver == 0 ? "no driver is installed"
                        : "the installed driver supports CUDA up to " + cuda_version_text(driver) +
                              "; update the driver, or build with a toolkit of CUDA " +
                              std::to_string(driver / 1000));
}

}  // namespace surrogate::kernels
