// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>
#include <surrogate/surrogate.h>

#include <cstdint>

#include "coupling/error/error.hpp"

namespace surrogate::h5 {

/// The type of SURROGATE_FLOAT32, SURROGATE_FLOAT64 or SURROGATE_INT64, as memory has it.
inline hid_t type_of(int32_t dtype) {
    if (dtype == SURROGATE_INT64) return H5T_NATIVE_INT64;
    return dtype == SURROGATE_FLOAT32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

/// Where the numbers of a contiguous data set lie, from the start of the file.
inline uint64_t offset_of(hid_t dataset) {
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF) coupling::fail(SURROGATE_IO, "cannot find the place of a data set");
    return offset;
}

}  // namespace surrogate::h5
