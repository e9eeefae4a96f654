// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>
#include <surrogate/surrogate.h>

#include <cstdint>

namespace surrogate::h5 {

/// Returns the memory type of SURROGATE_FLOAT32, SURROGATE_FLOAT64 or SURROGATE_INT64.
inline hid_t type_of(int32_t dtype) {
    if (dtype == SURROGATE_INT64) return H5T_NATIVE_INT64;
    return dtype == SURROGATE_FLOAT32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

}  // namespace surrogate::h5
