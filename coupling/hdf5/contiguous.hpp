// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "coupling/hdf5/handle.hpp"

namespace surrogate::h5 {

/// Creates a contiguous data set of a file or group. Its space is allocated now; its numbers are
/// written later, without HDF5. Fill values and times are disabled, so equal arguments give equal
/// bytes.
///   dtype    SURROGATE_FLOAT32, SURROGATE_FLOAT64 or SURROGATE_INT64
///   extents  of its axes; 0 is allowed
Handle new_contiguous(hid_t parent, const std::string& name, int32_t dtype,
                      const std::vector<hsize_t>& extents);

/// Returns the offset of a contiguous data set's numbers from the start of the file. Throws
/// Error(IO) if the data set has no space in the file, as without numbers.
uint64_t offset_of(hid_t dataset);

}  // namespace surrogate::h5
