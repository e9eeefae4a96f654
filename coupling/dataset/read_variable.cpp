// SPDX-License-Identifier: Apache-2.0
#include "coupling/dataset/read_variable.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "coupling/error/error.hpp"
#include "coupling/hdf5/handle.hpp"
#include "coupling/hdf5/own_storage.hpp"

namespace surrogate::dataset {

namespace {

using h5::check;
using h5::checked;
using h5::Handle;

constexpr size_t longest_text = 1 << 20;  // of an attribute: names and units are short

bool has_attribute(hid_t object, const char* name) {
    return checked(H5Aexists(object, name), "look for an attribute") > 0;
}

std::string fixed_text(hid_t attribute, hid_t type) {
    const size_t n = H5Tget_size(type);
    if (n > longest_text) coupling::fail(SURROGATE_BAD_FILE, "a text of the file is too long");
    std::string text(n, '\0');
    check(H5Aread(attribute, type, text.data()), "read an attribute");
    return text.substr(0, text.find('\0'));
}

std::string variable_text(hid_t attribute, hid_t type) {
    char* bytes = nullptr;
    check(H5Aread(attribute, type, static_cast<void*>(&bytes)), "read an attribute");
    const std::unique_ptr<char, decltype(&H5free_memory)> owner(bytes, H5free_memory);
    return bytes == nullptr ? "" : bytes;
}

std::vector<int64_t> shape_of(hid_t dataset) {
    constexpr auto largest = static_cast<hsize_t>(std::numeric_limits<int64_t>::max());
    const Handle space(H5Dget_space(dataset), H5Sclose, "read a shape");
    const auto n_axis = checked(H5Sget_simple_extent_ndims(space), "read a shape");
    std::vector<hsize_t> extents(static_cast<size_t>(n_axis));
    check(H5Sget_simple_extent_dims(space, extents.data(), nullptr), "read a shape");
    if (std::any_of(extents.begin(), extents.end(), [](hsize_t n) { return n > largest; }))
        coupling::fail(SURROGATE_BAD_FILE,
                       "the shape is " + h5::shape_text(extents) + ", expected extents below 2^63");
    return {extents.begin(), extents.end()};
}

/// Returns true for float16, float32 and float64 in either byte order.
bool is_ieee(hid_t type) {
    struct Bits {
        size_t n_byte, exponent, fraction;
    };
    size_t sign = 0, exponent = 0, n_exponent = 0, fraction = 0, n_fraction = 0;
    if (H5Tget_fields(type, &sign, &exponent, &n_exponent, &fraction, &n_fraction) < 0)
        return false;
    for (const Bits& bits : {Bits{2, 5, 10}, Bits{4, 8, 23}, Bits{8, 11, 52}})
        if (H5Tget_size(type) == bits.n_byte)
            return n_exponent == bits.exponent && n_fraction == bits.fraction && fraction == 0 &&
                   exponent == bits.fraction && sign == bits.exponent + bits.fraction;
    return false;
}

StoredVariable::Kind kind_of(hid_t dataset) {
    const Handle type(H5Dget_type(dataset), H5Tclose, "read a type");
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_FLOAT && is_ieee(type)) return StoredVariable::Kind::real;
    const bool is_integer = kind == H5T_INTEGER && H5Tget_size(type) <= sizeof(int64_t);
    return is_integer ? StoredVariable::Kind::integer : StoredVariable::Kind::other;
}

/// Returns the name of the object that a reference points to, without the slash of the root.
std::string name_behind(hid_t dataset, const hvl_t& entry) {
    if (entry.len != 1)
        coupling::fail(SURROGATE_BAD_FILE,
                       "an axis has " + std::to_string(entry.len) + " scales, expected 1");
    std::string name(256, '\0');
    const auto n = H5Rget_name(dataset, H5R_OBJECT, entry.p, name.data(), name.size());
    if (n <= 0 || static_cast<size_t>(n) >= name.size())
        coupling::fail(SURROGATE_BAD_FILE, "an axis refers to a missing object");
    name.resize(static_cast<size_t>(n));
    return name.substr(name.rfind('/') + 1);
}

/// Returns the axes of a variable in the manner of netCDF: references to the scales.
std::vector<std::string> listed_axes(hid_t dataset, size_t n_axis) {
    const Handle attribute(H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT), H5Aclose,
                           "read the axes of a data set");
    const Handle space(H5Aget_space(attribute), H5Sclose, "read the axes of a data set");
    if (H5Sget_simple_extent_npoints(space) != static_cast<hssize_t>(n_axis))
        coupling::fail(SURROGATE_BAD_FILE, "DIMENSION_LIST does not fit the shape");
    const Handle type(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose, "make a type");
    std::vector<hvl_t> list(n_axis);
    check(H5Aread(attribute, type, list.data()), "read the axes of a data set");
    std::vector<std::string> names;
    try {
        for (const hvl_t& entry : list) names.push_back(name_behind(dataset, entry));
    } catch (...) {
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, list.data());
        throw;
    }
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, list.data());
    return names;
}

StoredVariable read_variable(hid_t file, const std::string& name) {
    const Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, "open a data set");
    h5::require_own_storage(dataset);
    StoredVariable variable{name,
                            text_attribute(dataset, "units").value_or(""),
                            text_attribute(dataset, "axis").value_or(""),
                            {},
                            shape_of(dataset),
                            kind_of(dataset)};
    const size_t n_axis = variable.shape.size();
    const bool is_scale = text_attribute(dataset, "CLASS").value_or("") == "DIMENSION_SCALE";
    if (is_scale && n_axis == 1) variable.axes = {name};
    const std::string shown = is_scale ? text_attribute(dataset, "NAME").value_or("") : "";
    if (shown.starts_with("This is a netCDF dimension but not"))
        variable.kind = StoredVariable::Kind::none;
    if (!is_scale && n_axis > 0 && has_attribute(dataset, "DIMENSION_LIST"))
        variable.axes = listed_axes(dataset, n_axis);
    return variable;
}

bool is_dataset(hid_t file, const std::string& name) {
    H5L_info_t link = {};
    check(H5Lget_info(file, name.c_str(), &link, H5P_DEFAULT), "read a link");
    if (link.type != H5L_TYPE_HARD) return false;
    H5O_info_t object = {};
    check(H5Oget_info_by_name(file, name.c_str(), &object, H5P_DEFAULT), "read an object");
    return object.type == H5O_TYPE_DATASET;
}

}  // namespace

std::optional<std::string> text_attribute(hid_t object, const char* name) {
    if (!has_attribute(object, name)) return std::nullopt;
    const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose, "read an attribute");
    const Handle type(H5Aget_type(attribute), H5Tclose, "read a type");
    const Handle space(H5Aget_space(attribute), H5Sclose, "read a shape");
    if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1)
        coupling::fail(SURROGATE_BAD_FILE, std::string("attribute '") + name + "' is not a text");
    return H5Tis_variable_str(type) > 0 ? variable_text(attribute, type)
                                        : fixed_text(attribute, type);
}

std::vector<StoredVariable> read_variables(hid_t file) {
    std::vector<StoredVariable> variables;
    for (const std::string& name : h5::names_in(file)) {
        if (!is_dataset(file, name)) continue;
        try {
            variables.push_back(read_variable(file, name));
        } catch (const Error& error) {
            coupling::fail(error.status(), "'" + name + "': " + coupling::text_of(error));
        }
    }
    return variables;
}

}  // namespace surrogate::dataset
