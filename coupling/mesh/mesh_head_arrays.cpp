// SPDX-License-Identifier: Apache-2.0
// Checks of arrays in MeshHead.
#include <algorithm>

#include "coupling/mesh/mesh_head.hpp"
#include "coupling/mesh/xml_attributes.hpp"
#include "coupling/mesh/xml_numbers.hpp"

namespace surrogate::vtk {

int64_t MeshHead::tuples_of(const XmlAttributes& attributes, Kind list) {
    const std::string name = attributes.text("Name");
    switch (list) {
        case Kind::points:
        case Kind::point_data: return piece_.points;
        case Kind::cell_data: return piece_.cells;
        case Kind::cells:  // the data have the length of these two
            return name == "connectivity" || name == "faces" ? 0 : piece_.cells;
        default: return count(attributes, "NumberOfTuples");
    }
}

int64_t MeshHead::components_of(const XmlAttributes& attributes, Kind list,
                                const std::string& what) {
    int64_t n = 1;
    if (const char* text = attributes.find("NumberOfComponents")) {
        const auto value = integer_of(text);
        if (!value || *value < 0 || *value > limits_.components) {
            fail(what + " has " + quoted("NumberOfComponents", text));
            return 0;
        }
        n = std::max<int64_t>(1, *value);
    }
    n_components_ += n;
    if (n_components_ > limits_.components)
        fail("its arrays have more than " + std::to_string(limits_.components) +
             " components together");
    else if (list == Kind::points && n != 3)
        fail("its points have " + std::to_string(n) + " components, expected 3");
    else if (list == Kind::cells && n != 1)
        fail(what + " of the cells has " + std::to_string(n) + " components, expected 1");
    return n;
}

void MeshHead::start_array(const XmlAttributes& attributes, Kind list, bool is_here) {
    const std::string what = "array '" + printable(attributes.text("Name")) + "'";
    const std::string type = attributes.text("type");
    if (++n_arrays_ > limits_.arrays)
        return fail("it has more than " + std::to_string(limits_.arrays) + " arrays in one list");
    if (value_bytes(type) == 0)
        return fail(what + " has the type '" + printable(type) +
                    "', expected Int8 .. Int64, UInt8 .. UInt64, Float32, Float64 or String");
    const int64_t n_component = components_of(attributes, list, what);
    const char* offset = attributes.find("offset");
    if (offset != nullptr) {
        const auto value = integer_of(offset);
        if (!value || *value < 0 || *value >= n_byte_)
            return fail(what + " begins at " + quoted("offset", offset) +
                        " of the appended data; the file has " + std::to_string(n_byte_) +
                        " bytes");
    }
    const int64_t n_tuple = tuples_of(attributes, list);
    if (list != Kind::field_data) has_array_ = true;
    if ((list == Kind::points || list == Kind::cells) && (type == "String" || type == "Bit"))
        fail((list == Kind::points ? std::string("its points have") : what + " of the cells has") +
             " the type " + type);
    if (has_failed()) return;
    if (is_here)
        require_room(what, type, offset == nullptr && attributes.text("format") != "binary",
                     n_tuple, n_component);
    else if (type == "String" && whole_points_ > limits_.free_points)
        fail(what + " has " + std::to_string(whole_points_) + " strings");
}

/// Checks that the file can hold the values. An ascii value takes at least a digit and a blank.
void MeshHead::require_room(const std::string& what, const std::string& type, bool is_ascii,
                            int64_t n_tuple, int64_t n_component) {
    const double n_values = static_cast<double>(n_tuple) * static_cast<double>(n_component);
    const double bytes =
        is_ascii ? 2 * n_values - 1 : n_values * value_bytes(type) / static_cast<double>(ratio_);
    needed_ += std::max(0.0, bytes);
    const auto n_byte = static_cast<double>(n_byte_);
    if (bytes <= n_byte && needed_ <= static_cast<double>(limits_.sharing) * n_byte) return;
    fail(what + " has " + std::to_string(n_tuple) + " x " + std::to_string(n_component) +
         " values of " + printable(type) + ", which a file of " + std::to_string(n_byte_) +
         " bytes cannot hold" + (bytes <= n_byte ? " beside its other arrays" : ""));
}

}  // namespace surrogate::vtk
