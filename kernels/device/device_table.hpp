// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace surrogate::kernels {

/// The kernels of one model family, as a plug-in exports them.
struct DeviceTable {
    const char* family = nullptr;   ///< as in the table of families
    int64_t n_byte = 0;             ///< size of the structure that `kernels` points to
    const void* kernels = nullptr;  ///< a structure that the family's own header declares
};

/// Returns device_table() of each family with device code, as the build lists them.
std::span<const DeviceTable> device_tables();

}  // namespace surrogate::kernels
