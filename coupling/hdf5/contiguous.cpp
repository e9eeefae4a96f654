// SPDX-License-Identifier: Apache-2.0
#include "coupling/hdf5/contiguous.hpp"

#include "coupling/error/error.hpp"
#include "coupling/hdf5/type.hpp"

namespace surrogate::h5 {

Handle new_contiguous(hid_t parent, const std::string& name, int32_t dtype,
                      const std::vector<hsize_t>& extents) {
    const Handle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                       H5Sclose, "make a data space");
    const Handle how = property_list(H5P_DATASET_CREATE);
    check(H5Pset_layout(how, H5D_CONTIGUOUS), "set a property");
    check(H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY), "set a property");
    check(H5Pset_fill_time(how, H5D_FILL_TIME_NEVER), "set a property");
    check(H5Pset_obj_track_times(how, false), "set a property");
    return {H5Dcreate2(parent, name.c_str(), type_of(dtype), space, H5P_DEFAULT, how, H5P_DEFAULT),
            H5Dclose, "make a data set"};
}

uint64_t offset_of(hid_t dataset) {
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset == HADDR_UNDEF) coupling::fail(SURROGATE_IO, "cannot find the offset of a data set");
    return offset;
}

}  // namespace surrogate::h5
