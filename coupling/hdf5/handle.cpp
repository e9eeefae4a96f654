// SPDX-License-Identifier: Apache-2.0
#include "coupling/hdf5/handle.hpp"

#include <new>

#include "coupling/error/error.hpp"

namespace surrogate::h5 {

using coupling::fail;

namespace {

/// Stores the innermost message of an error stack, which is the first message of a downward walk.
herr_t keep_first(unsigned, const H5E_error2_t* error, void* text) {
    auto& kept = *static_cast<std::string*>(text);
    if (kept.empty() && error->desc != nullptr) kept = error->desc;
    return 0;
}

std::string reason() {
    std::string text;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
    return text.empty() ? "HDF5 gives no reason" : text;
}

void put_scalar(hid_t object, const char* name, hid_t type, const void* value) {
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "make a data space");
    const Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose, "make an attribute");
    check(H5Awrite(attribute, type, value), "write an attribute");
}

/// Opens an attribute with one value of a class of types.
Handle scalar(hid_t object, const char* name, H5T_class_t kind) {
    Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose, "open an attribute");
    const Handle space(H5Aget_space(attribute), H5Sclose, "read a data space");
    const Handle type(H5Aget_type(attribute), H5Tclose, "read a type");
    if (H5Sget_simple_extent_npoints(space) != 1 || H5Tget_class(type) != kind)
        fail(SURROGATE_BAD_FILE,
             std::string("attribute '") + name + "' has an unexpected type or size");
    return attribute;
}

void get_scalar(hid_t object, const char* name, H5T_class_t kind, hid_t type, void* value) {
    const Handle attribute = scalar(object, name, kind);
    check(H5Aread(attribute, type, value), "read an attribute");
}

/// Returns a text type of a fixed size, padded with zeros; HDF5 has no type of size 0.
Handle text_type(size_t size) {
    Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "make a type");
    check(H5Tset_size(type, size == 0 ? 1 : size), "make a type");
    check(H5Tset_strpad(type, H5T_STR_NULLPAD), "make a type");
    check(H5Tset_cset(type, H5T_CSET_UTF8), "make a type");
    return type;
}

struct Names {
    std::vector<std::string> all;
    bool is_memory_short = false;
};

/// Adds a link in H5Literate, which does not support exceptions.
herr_t add_name(hid_t, const char* name, const H5L_info_t*, void* names) noexcept {
    try {
        static_cast<Names*>(names)->all.emplace_back(name);
        return 0;
    } catch (...) {
        static_cast<Names*>(names)->is_memory_short = true;
        return -1;
    }
}

}  // namespace

hid_t checked(hid_t result, const char* what) {
    if (result < 0) fail(SURROGATE_IO, std::string("cannot ") + what + ": " + reason());
    return result;
}

QuietErrors::QuietErrors() : stack_(H5Eget_current_stack()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietErrors::~QuietErrors() {
    H5Eset_auto2(H5E_DEFAULT, print_, data_);
    if (stack_ >= 0) H5Eset_current_stack(stack_);
}

NoPlugins::NoPlugins() {
    check(H5PLget_loading_state(&state_), "read the setting of plug-ins");
    check(H5PLset_loading_state(0), "switch plug-ins off");
}

NoPlugins::~NoPlugins() {
    H5PLset_loading_state(state_);
}

Handle property_list(hid_t kind) {
    return {H5Pcreate(kind), H5Pclose, "make a property list"};
}

Handle new_group(hid_t parent, const std::string& name) {
    return {H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
            "make a group"};
}

Handle group(hid_t parent, const std::string& name) {
    return {H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose, "open a group"};
}

std::vector<std::string> names_in(hid_t group) {
    Names names;
    const herr_t result = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_name,
                                     static_cast<void*>(&names));
    if (names.is_memory_short) throw std::bad_alloc();
    check(result, "list a group");
    return names.all;
}

std::string link_name(const std::string& name) {
    const bool is_dots = name.find_first_not_of('.') == std::string::npos;
    std::string link;
    for (const char c : name) {
        if (c == '/')
            link += "%2F";
        else if (c == '%')
            link += "%25";
        else if (c == '.' && is_dots)
            link += "%2E";
        else
            link += c;
    }
    return link;
}

void put(hid_t object, const char* name, double value) {
    put_scalar(object, name, H5T_NATIVE_DOUBLE, &value);
}
void put(hid_t object, const char* name, int64_t value) {
    put_scalar(object, name, H5T_NATIVE_INT64, &value);
}
void put(hid_t object, const char* name, uint64_t value) {
    put_scalar(object, name, H5T_NATIVE_UINT64, &value);
}
void put(hid_t object, const char* name, const std::string& value) {
    put_scalar(object, name, text_type(value.size()), value.c_str());
}

void get(hid_t object, const char* name, double* value) {
    get_scalar(object, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, value);
}
void get(hid_t object, const char* name, int64_t* value) {
    get_scalar(object, name, H5T_INTEGER, H5T_NATIVE_INT64, value);
}
void get(hid_t object, const char* name, uint64_t* value) {
    get_scalar(object, name, H5T_INTEGER, H5T_NATIVE_UINT64, value);
}
void get(hid_t object, const char* name, std::string* value) {
    const Handle attribute = scalar(object, name, H5T_STRING);
    const Handle type(H5Aget_type(attribute), H5Tclose, "read a type");
    if (H5Tis_variable_str(type) != 0)
        fail(SURROGATE_BAD_FILE,
             std::string("attribute '") + name + "' has a text of variable size");
    value->assign(H5Tget_size(type), '\0');
    check(H5Aread(attribute, type, value->data()), "read an attribute");
    value->resize(value->find_last_not_of('\0') + 1);  // npos + 1 is 0
}

}  // namespace surrogate::h5
