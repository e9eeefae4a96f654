// SPDX-License-Identifier: Apache-2.0
#include "coupling/dataset/content.hpp"
#include "coupling/hdf5/contiguous.hpp"

namespace surrogate::dataset {

namespace {

h5::Handle new_dataset(hid_t file, const Content& content, Variable* variable) {
    std::vector<hsize_t> extents;
    for (const size_t axis : variable->axes)
        extents.push_back(static_cast<hsize_t>(content.axes[axis].n));
    h5::Handle dataset = h5::new_contiguous(file, variable->name, variable->dtype, extents);
    variable->offset = h5::offset_of(dataset);
    return dataset;
}

/// Returns the names of coordinates that vary with the points of a variable and are not axes, as
/// the CF conventions require.
std::string coordinates_of(const Content& content, const Variable& variable) {
    std::string names;
    for (const Variable& other : content.variables) {
        if (other.axis.empty() || !variable.axis.empty()) continue;
        size_t n_shared = 0;
        bool is_axis = false;
        for (const size_t axis : other.axes) {
            for (const size_t own : variable.axes) n_shared += axis == own;
            is_axis = is_axis || content.axes[axis].name == other.name;
        }
        if (!is_axis && n_shared == other.axes.size())
            names += (names.empty() ? "" : " ") + other.name;
    }
    return names;
}

void put_attributes(hid_t dataset, const Content& content, const Variable& variable) {
    if (!variable.unit.empty()) h5::put(dataset, "units", variable.unit);
    if (!variable.long_name.empty()) h5::put(dataset, "long_name", variable.long_name);
    if (!variable.axis.empty()) h5::put(dataset, "axis", variable.axis);
    const std::string coordinates = coordinates_of(content, variable);
    if (!coordinates.empty()) h5::put(dataset, "coordinates", coordinates);
}

void put_head(hid_t file, const Content& content) {
    h5::put(file, "Conventions", std::string("CF-1.8"));
    h5::put(file, "surrogate_dataset", int64_t{1});
    h5::put(file, "created_by", std::string("libsurrogate ") + surrogate_version());
    for (const auto& [key, text] : content.attributes) h5::put(file, key.c_str(), text);
}

void lay_out_on(h5::Driver* driver, Content* content) {
    h5::Handle file(H5Fcreate("dataset", H5F_ACC_TRUNC, H5P_DEFAULT, driver->access()), H5Fclose,
                    "make a file of HDF5");
    put_head(file, *content);
    {
        std::vector<h5::Handle> datasets;
        for (Variable& variable : content->variables) {
            datasets.push_back(new_dataset(file, *content, &variable));
            put_attributes(datasets.back(), *content, variable);
        }
        put_scales(file, *content, datasets);
    }
    file.close("finish a file of HDF5");
}

}  // namespace

void lay_out(Content* content, h5::SparseFile* memory) {
    const h5::QuietErrors quiet;
    h5::Driver driver(memory);
    try {
        lay_out_on(&driver, content);
    } catch (const std::exception&) {
        driver.check_storage();  // has more detail than HDF5's text
        throw;
    }
    driver.check_storage();
    content->file_bytes = memory->size();
}

}  // namespace surrogate::dataset
