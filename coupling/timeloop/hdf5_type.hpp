// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include "coupling/timeloop/checkpoint_content.hpp"
#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

inline hid_t hdf5_type(const Rows& rows) {
    if (rows.dtype == SURROGATE_INT64) return H5T_NATIVE_INT64;
    return rows.dtype == SURROGATE_FLOAT32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

/// Where the numbers of a contiguous data set lie, from the start of the file.
inline uint64_t offset_of(hid_t dataset) {
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF) fail(SURROGATE_IO, "cannot find the place of a data set");
    return offset;
}

}  // namespace surrogate::timeloop
