// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "coupling/hdf5/handle.hpp"

namespace surrogate::h5 {

/// A contiguous data set of a file or group, whose place is taken now and whose numbers come later,
/// written there without HDF5. Nothing is filled in and no time is kept: the same bytes for equal
/// arguments.
///   dtype    SURROGATE_FLOAT32, SURROGATE_FLOAT64 or SURROGATE_INT64
///   extents  of its axes; 0 is allowed
Handle new_contiguous(hid_t parent, const std::string& name, int32_t dtype,
                      const std::vector<hsize_t>& extents);

/// Returns the offset of a contiguous data set's numbers from the start of the file. Throws
/// Error(IO) if it has no place, as one without numbers.
uint64_t offset_of(hid_t dataset);

}  // namespace surrogate::h5
