// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <cstring>

#include "coupling/dataset/content.hpp"

namespace surrogate::dataset {

namespace {

/// An element of REFERENCE_LIST: a variable, and the index of its axis. The layout of hdf5_hl; the
/// end is padded with zeros.
struct Reference {
    hobj_ref_t variable;
    int axis;
    int zero;
};
static_assert(sizeof(Reference) == 16);

/// Writes a text in the format of hdf5_hl, which ends with a zero.
void put_text(hid_t object, const char* name, const char* text) {
    const h5::Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "make a type");
    h5::check(H5Tset_size(type, std::strlen(text) + 1), "make a type");
    const h5::Handle space(H5Screate(H5S_SCALAR), H5Sclose, "make a data space");
    const h5::Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT),
                               H5Aclose, "make an attribute");
    h5::check(H5Awrite(attribute, type, text), "write an attribute");
}

void put_list(hid_t object, const char* name, hid_t type, size_t n, const void* values) {
    const auto extent = static_cast<hsize_t>(n);
    const h5::Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose, "make a data space");
    const h5::Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT),
                               H5Aclose, "make an attribute");
    h5::check(H5Awrite(attribute, type, values), "write an attribute");
}

hobj_ref_t reference_to(hid_t file, const std::string& name) {
    hobj_ref_t reference = 0;
    h5::check(H5Rcreate(&reference, file, name.c_str(), H5R_OBJECT, -1), "refer to a data set");
    return reference;
}

/// Creates an axis without numbers: a data set without storage, with netCDF's name for it.
h5::Handle new_axis(hid_t file, const Axis& axis) {
    const auto extent = static_cast<hsize_t>(axis.n);
    const h5::Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose, "make a data space");
    const h5::Handle how = h5::property_list(H5P_DATASET_CREATE);
    h5::check(H5Pset_alloc_time(how, H5D_ALLOC_TIME_LATE), "set a property");
    h5::check(H5Pset_fill_time(how, H5D_FILL_TIME_NEVER), "set a property");
    h5::check(H5Pset_obj_track_times(how, false), "set a property");
    return {
        H5Dcreate2(file, axis.name.c_str(), H5T_IEEE_F32BE, space, H5P_DEFAULT, how, H5P_DEFAULT),
        H5Dclose, "make an axis"};
}

/// Returns NAME of an axis: its own name, or netCDF's text for an axis without numbers.
std::string scale_name(const Axis& axis, bool has_numbers) {
    if (has_numbers) return axis.name;
    std::array<char, 80> text{};
    std::snprintf(text.data(), text.size(),
                  "This is a netCDF dimension but not a netCDF variable.%10lld",
                  static_cast<long long>(axis.n));
    return text.data();
}

/// Makes an object the scale of an axis, and lists the variables that use it.
void put_scale(hid_t file, hid_t object, const Content& content, size_t axis) {
    const Variable* const numbers = content.numbers_of(axis);
    put_text(object, "CLASS", "DIMENSION_SCALE");
    put_text(object, "NAME", scale_name(content.axes[axis], numbers != nullptr).c_str());
    std::vector<Reference> uses;
    for (const Variable& variable : content.variables)
        for (size_t i = 0; i < variable.axes.size(); ++i)
            if (variable.axes[i] == axis && &variable != numbers)
                uses.push_back({reference_to(file, variable.name), static_cast<int>(i), 0});
    if (uses.empty()) return;
    const h5::Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Reference)), H5Tclose, "make a type");
    h5::check(H5Tinsert(type, "dataset", offsetof(Reference, variable), H5T_STD_REF_OBJ),
              "make a type");
    h5::check(H5Tinsert(type, "dimension", offsetof(Reference, axis), H5T_NATIVE_INT),
              "make a type");
    put_list(object, "REFERENCE_LIST", type, uses.size(), uses.data());
}

/// Writes the names of the axes of a variable.
void put_axes(hid_t file, hid_t dataset, const Content& content, const Variable& variable) {
    std::vector<hobj_ref_t> references;
    for (const size_t axis : variable.axes)
        references.push_back(reference_to(file, content.axes[axis].name));
    std::vector<hvl_t> list;
    for (hobj_ref_t& reference : references) list.push_back({1, &reference});
    const h5::Handle type(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose, "make a type");
    put_list(dataset, "DIMENSION_LIST", type, list.size(), list.data());
}

}  // namespace

void put_scales(hid_t file, const Content& content, const std::vector<h5::Handle>& datasets) {
    std::vector<h5::Handle> bare;  // scales of axes without numbers
    bare.reserve(content.axes.size());
    for (size_t axis = 0; axis < content.axes.size(); ++axis)
        if (content.numbers_of(axis) == nullptr) bare.push_back(new_axis(file, content.axes[axis]));
    auto next = bare.begin();
    for (size_t axis = 0; axis < content.axes.size(); ++axis) {
        const Variable* const numbers = content.numbers_of(axis);
        const hid_t scale =
            numbers != nullptr
                ? hid_t(datasets[static_cast<size_t>(numbers - content.variables.data())])
                : hid_t(*next++);
        put_scale(file, scale, content, axis);
    }
    for (size_t i = 0; i < content.variables.size(); ++i) {
        const Variable& variable = content.variables[i];
        const bool is_axis = content.axes[variable.axes[0]].name == variable.name;
        if (!is_axis) put_axes(file, datasets[i], content, variable);
    }
}

}  // namespace surrogate::dataset
