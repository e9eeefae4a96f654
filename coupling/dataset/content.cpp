// SPDX-License-Identifier: Apache-2.0
#include "coupling/dataset/content.hpp"

#include <algorithm>

#include "coupling/dataset/coordinate_axes.hpp"
#include "coupling/error/error.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace surrogate::dataset {

using coupling::fail;

namespace {

constexpr int64_t most_bytes = int64_t{1} << 62;

/// Returns the names of a range, for messages.
template <class Named>
std::string list_of(const std::vector<Named>& all) {
    std::string list;
    for (const Named& one : all) list += (list.empty() ? "" : ", ") + one.name;
    return list.empty() ? "none" : list;
}

void check_name(const std::string& name) {
    const bool is_clean = std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return c >= 0x20 && c != 0x7f && c != '/';
    });
    if (!is_clean || name.empty() || name[0] == '.' || name[0] == ' ' || name.back() == ' ')
        fail(SURROGATE_INVALID_ARGUMENT,
             "'" + name +
                 "' cannot be a name in a data set: names have no '/' and no control characters, "
                 "do not begin with a dot, and neither begin nor end with a blank");
}

std::string text_or_none(const char* text) {
    return text == nullptr ? "" : text;
}

}  // namespace

void Content::set(const std::string& key, const std::string& text) {
    check_name(key);
    for (const char* own : {"Conventions", "surrogate_dataset", "created_by"})
        if (key == own)
            fail(SURROGATE_INVALID_ARGUMENT, "attribute '" + key + "' is set by the library");
    const auto earlier = std::find_if(attributes.begin(), attributes.end(),
                                      [&](const auto& pair) { return pair.first == key; });
    if (earlier != attributes.end())
        earlier->second = text;
    else
        attributes.emplace_back(key, text);
}

void Content::add_axis(const std::string& name, int64_t n) {
    check_name(name);
    for (const Axis& axis : axes)
        if (axis.name == name)
            fail(SURROGATE_INVALID_ARGUMENT, "the data set has an axis '" + name + "' already");
    for (const Variable& one : variables)
        if (one.name == name)
            fail(SURROGATE_INVALID_ARGUMENT,
                 "the data set has a variable '" + name + "' already; add its axis first");
    if (n < 1)
        fail(SURROGATE_SHAPE, "axis '" + name + "' has " + std::to_string(n) +
                                  " positions; a data set has at least one");
    axes.push_back({name, n});
}

void Content::add(const surrogate_variable& given) {
    coupling::require(given.name, "variable->name");
    Variable made;
    made.name = given.name;
    made.unit = text_or_none(given.unit);
    made.long_name = text_or_none(given.long_name);
    made.axis = text_or_none(given.axis);
    made.dtype = given.dtype;
    check_name(made.name);
    for (const Variable& one : variables)
        if (one.name == made.name)
            fail(SURROGATE_INVALID_ARGUMENT,
                 "the data set has a variable '" + made.name + "' already");
    if (made.dtype != SURROGATE_FLOAT32 && made.dtype != SURROGATE_FLOAT64 &&
        made.dtype != SURROGATE_INT64)
        fail(SURROGATE_INVALID_ARGUMENT,
             "variable '" + made.name + "' has dtype " + std::to_string(made.dtype) +
                 "; data sets hold SURROGATE_FLOAT32, SURROGATE_FLOAT64 and SURROGATE_INT64");
    if (!made.axis.empty() && index_of_axis(made.axis) == coordinate_axes.size())
        fail(SURROGATE_INVALID_ARGUMENT, "coordinate '" + made.name + "' has axis '" + made.axis +
                                             "'; expected " + coordinate_axes_text);
    if (given.n_axis < 1 || given.n_axis > 8)
        fail(SURROGATE_SHAPE, "variable '" + made.name + "' has " + std::to_string(given.n_axis) +
                                  " axes; expected 1 to 8");
    coupling::require(given.axes, "variable->axes");
    made.n_number = 1;
    for (int32_t i = 0; i < given.n_axis; ++i) {
        coupling::require(given.axes[i], "variable->axes[..]");
        const auto found = std::find_if(
            axes.begin(), axes.end(), [&](const Axis& axis) { return axis.name == given.axes[i]; });
        if (found == axes.end())
            fail(SURROGATE_UNKNOWN_NAME, "variable '" + made.name + "' has an axis '" +
                                             given.axes[i] +
                                             "' that was not added (axes: " + list_of(axes) + ")");
        made.axes.push_back(static_cast<size_t>(found - axes.begin()));
        if (made.n_number > most_bytes / 8 / found->n)
            fail(SURROGATE_LIMIT, "variable '" + made.name + "' has more than 2^62 bytes");
        made.n_number *= found->n;
        if (found->name == made.name && given.n_axis != 1)
            fail(SURROGATE_INVALID_ARGUMENT,
                 "variable '" + made.name +
                     "' has the name of an axis and defines its numbers, expected this axis only");
    }
    for (const Axis& axis : axes)
        if (axis.name == made.name && axes[made.axes[0]].name != made.name)
            fail(SURROGATE_INVALID_ARGUMENT,
                 "variable '" + made.name + "' has the name of an axis but is defined over axis '" +
                     axes[made.axes[0]].name + "'");
    variables.push_back(made);
}

const Variable& Content::variable(const std::string& name) const {
    for (const Variable& one : variables)
        if (one.name == name) return one;
    fail(SURROGATE_UNKNOWN_NAME,
         "the data set has no variable '" + name + "' (variables: " + list_of(variables) + ")");
}

const Variable* Content::numbers_of(size_t axis) const {
    for (const Variable& one : variables)
        if (one.name == axes[axis].name) return &one;
    return nullptr;
}

uint64_t Content::hash(const std::string& path) const {
    std::string text = path;
    const auto add = [&](const std::string& part) { text.append(1, '\0').append(part); };
    for (const auto& [key, value] : attributes) add(key), add(value);
    for (const Axis& axis : axes) add("axis"), add(axis.name), add(std::to_string(axis.n));
    for (const Variable& one : variables) {
        for (const std::string* part : {&one.name, &one.unit, &one.long_name, &one.axis})
            add(*part);
        add(std::to_string(one.dtype));
        for (const size_t axis : one.axes) add(std::to_string(axis));
    }
    return XXH3_64bits(text.data(), text.size());
}

}  // namespace surrogate::dataset
