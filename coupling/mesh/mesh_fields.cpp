// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/mesh_fields.hpp"

#include <surrogate/surrogate_vtk.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "coupling/job/job.hpp"
#include "coupling/job/text.hpp"
#include "coupling/mesh/vector_names.hpp"

namespace surrogate::tool {

namespace {

using vtk::ArrayInfo;

const char* word_of(int location) {
    return location == SURROGATE_POINT ? "point" : "cell";
}

std::string list_of(const std::vector<ArrayInfo>& arrays) {
    if (arrays.empty()) return "none";
    std::string text;
    for (const ArrayInfo& array : arrays) {
        text += (text.empty() ? "'" : ", '") + array.name + "'";
        if (array.n_components > 1)
            text += " (" + std::to_string(array.n_components) + " components)";
    }
    return text;
}

/// Returns a text such as "; did you mean 'mobility'?", or "".
std::string near_miss(const std::string& name, const std::vector<ArrayInfo>& arrays) {
    std::vector<std::string> known;
    for (const ArrayInfo& array : arrays) known.push_back(array.name);
    const std::string best = near_word(name, known);
    return best.empty() ? "" : "; did you mean '" + best + "'?";
}

std::optional<std::string> mapped(const FieldRequest& request, const std::string& field) {
    for (const auto& [key, array] : request.maps)
        if (key == field) return array;
    return {};
}

struct Found {
    ArrayInfo array;
    int component;  ///< -1: not requested
};

/// Returns the array named `name`, "array:component" or "array.xy". A whole name has priority, then
/// a letter.
std::optional<Found> find(const std::vector<ArrayInfo>& arrays, const std::string& name) {
    const auto by_name = [&](const std::string& wanted) {
        return std::find_if(arrays.begin(), arrays.end(),
                            [&](const ArrayInfo& array) { return array.name == wanted; });
    };
    if (const auto array = by_name(name); array != arrays.end()) return Found{*array, -1};
    const ComponentName part = split_component(name);
    if (const auto array = by_name(part.array); !part.array.empty() && array != arrays.end()) {
        const int component = component_index(part.suffix, array->n_components);
        if (component >= 0) return Found{*array, component};
    }
    const size_t colon = name.rfind(':');
    if (colon == std::string::npos || colon + 1 == name.size() || name.size() - colon > 9)
        return {};
    const std::string digits = name.substr(colon + 1);
    if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }))
        return {};
    const auto array = by_name(name.substr(0, colon));
    if (array == arrays.end()) return {};
    return Found{*array, std::stoi(digits)};
}

bool is_field(const surrogate_field_info& info) {
    return info.role == SURROGATE_FIELD;
}

std::string array_name(const FieldRequest& request, const surrogate_field_info& field) {
    return mapped(request, field.name).value_or(field.name);
}

bool has_all(const std::vector<ArrayInfo>& arrays, const std::vector<std::string>& names) {
    return std::all_of(names.begin(), names.end(),
                       [&](const std::string& name) { return find(arrays, name).has_value(); });
}

/// Returns the location of the evaluation. If neither location has all arrays, returns the
/// requested location or the points, so that the error names it.
int choose_location(const FieldRequest& request, const MeshArrays& arrays,
                    const std::vector<std::string>& names, bool& other_would_do) {
    const bool at_points = has_all(arrays.at_points, names);
    const bool at_cells = has_all(arrays.at_cells, names);
    other_would_do = request.at.empty() && at_points && at_cells;
    if (request.at == "points") return SURROGATE_POINT;
    if (request.at == "cells") return SURROGATE_CELL;
    return at_cells && !at_points ? SURROGATE_CELL : SURROGATE_POINT;
}

/// Returns true if coordinates are read from arrays of the mesh; see plan_fields().
bool reads_coordinates(const FieldRequest& request,
                       const std::vector<surrogate_field_info>& inputs) {
    return std::ranges::any_of(inputs, [&](const surrogate_field_info& info) {
        return info.role == SURROGATE_COORDINATE &&
               (info.axis >= 3 || mapped(request, info.name).has_value());
    });
}

std::string text_of_field(const surrogate_field_info& field) {
    const std::string unit = field.unit;
    return std::string("'") + field.name + "'" + (unit.empty() ? "" : " [" + unit + "]");
}

[[noreturn]] void fail_missing(const FieldRequest& request, const MeshArrays& arrays,
                               const surrogate_field_info& field, int location) {
    const std::string name = array_name(request, field);
    const int other = location == SURROGATE_POINT ? SURROGATE_CELL : SURROGATE_POINT;
    std::string help = near_miss(name, arrays.at(location));
    if (find(arrays.at(other), name))
        help = std::string("; there is a ") + word_of(other) + " array of that name: --at " +
               word_of(other) + "s";
    const char* const what = is_field(field)                 ? "field "
                             : field.role == SURROGATE_CLOUD ? "number per cloud "
                                                             : "coordinate ";
    const std::string set = field.role == SURROGATE_CLOUD
                                ? std::string("--set ") + field.name + "=VALUE sets it, "
                                : "";
    fail(std::string("the model needs the ") + what + text_of_field(field) + ", and '" +
         request.mesh + "' has no " + word_of(location) + " array '" + name + "'; point arrays: " +
         list_of(arrays.at_points) + "; cell arrays: " + list_of(arrays.at_cells) + help + " (" +
         set + "--map " + field.name + "=ARRAY names an array)");
}

std::optional<double> number_of(const FieldRequest& request, const std::string& field) {
    for (const auto& [key, value] : request.numbers)
        if (key == field) return value;
    return {};
}

/// Returns the array of --clouds, which has whole numbers.
FieldSource find_clouds(const FieldRequest& request, const MeshArrays& arrays, int location) {
    const std::string& name = request.clouds;
    const auto found = find(arrays.at(location), name);
    const std::string have = std::string("'") + request.mesh + "' has no " + word_of(location) +
                             " array '" + name + "'; point arrays: " + list_of(arrays.at_points) +
                             "; cell arrays: " + list_of(arrays.at_cells);
    if (!found) fail("--clouds: " + have + near_miss(name, arrays.at(location)));
    const ArrayInfo& array = found->array;
    const bool is_integer = array.type.find("Int") != std::string::npos;
    if (!is_integer)
        fail("--clouds: array '" + array.name + "' of '" + request.mesh + "' is " + array.type +
             ", expected integers");
    const bool is_one = found->component >= 0 || array.n_components == 1;
    if (!is_one || found->component >= array.n_components)
        fail("--clouds: array '" + array.name + "' of '" + request.mesh + "' has " +
             std::to_string(array.n_components) +
             " components, expected one; choose it: --clouds " + array.name + ":0");
    return {{}, array, std::max(0, found->component)};
}

/// Returns the names of all arrays that are read.
std::vector<std::string> names_to_read(const FieldRequest& request,
                                       const std::vector<surrogate_field_info>& inputs,
                                       const std::vector<surrogate_field_info>& numbers) {
    std::vector<std::string> names;
    for (const auto& info : inputs) names.push_back(array_name(request, info));
    for (const auto& info : numbers)
        if (!number_of(request, info.name)) names.push_back(array_name(request, info));
    if (!request.clouds.empty()) names.push_back(request.clouds);
    return names;
}

int component_of(const FieldRequest& request, const surrogate_field_info& field,
                 const Found& found) {
    const ArrayInfo& array = found.array;
    const std::string what = "array '" + array.name + "' of '" + request.mesh + "' has " +
                             std::to_string(array.n_components) +
                             (array.n_components == 1 ? " component" : " components");
    if (found.component >= array.n_components)
        fail(what + ", counted from 0; component " + std::to_string(found.component) +
             " does not exist");
    if (found.component < 0 && array.n_components != 1)
        fail(what + ", the field " + text_of_field(field) + " needs one; choose it: --map " +
             field.name + "=" + array.name + ":0");
    return std::max(0, found.component);
}

void check_unit(const FieldRequest& request, const surrogate_field_info& field,
                const ArrayInfo& array) {
    const std::string wanted = field.unit;
    if (request.ignore_units || wanted.empty() || array.unit.empty() || array.unit == wanted)
        return;
    fail("array '" + array.name + "' of '" + request.mesh + "' is in '" + array.unit +
         "', the model's field '" + field.name + "' in '" + wanted +
         "'; convert the array, or use --ignore-units if both units are equal");
}

FieldSource find_source(const FieldRequest& request, const MeshArrays& arrays, int location,
                        const surrogate_field_info& field) {
    const auto found = find(arrays.at(location), array_name(request, field));
    if (!found) fail_missing(request, arrays, field, location);
    const int component = component_of(request, field, *found);
    check_unit(request, field, found->array);
    return {field, found->array, component};
}

/// Returns the array of the weights.
FieldSource find_weights(const FieldRequest& request, const MeshArrays& arrays, int location) {
    const std::string text = "--weights " + request.weights + ": '" + request.mesh + "' ";
    const auto found = find(arrays.at(location), request.weights);
    if (!found)
        fail(text + "has no " + word_of(location) + " array '" + request.weights + "'; it has " +
             list_of(arrays.at(location)) + near_miss(request.weights, arrays.at(location)));
    const int n_component = found->array.n_components, component = std::max(0, found->component);
    if (component >= n_component || (found->component < 0 && n_component != 1))
        fail(text + "has " + std::to_string(n_component) + " components in '" + found->array.name +
             "', counted from 0; choose one with --weights " + found->array.name + ":0");
    return {{}, found->array, component};
}

void pack(const ArrayInfo& array, char place, std::ostream& out) {
    out << place << '\x1f' << array.name << '\x1f' << array.type << '\x1f' << array.n_components
        << '\x1f' << array.unit << '\x1e';
}

}  // namespace

const std::vector<ArrayInfo>& MeshArrays::at(int location) const {
    return location == SURROGATE_POINT ? at_points : at_cells;
}

std::string MeshArrays::packed() const {
    std::ostringstream out;
    out << (has_float_coordinates ? '1' : '0');
    for (const ArrayInfo& array : at_points) pack(array, 'p', out);
    for (const ArrayInfo& array : at_cells) pack(array, 'c', out);
    return out.str();
}

MeshArrays MeshArrays::unpacked(const std::string& text) {
    MeshArrays arrays;
    if (text.empty()) return arrays;
    arrays.has_float_coordinates = text[0] == '1';
    std::istringstream records(text.substr(1));
    for (std::string record; std::getline(records, record, '\x1e');) {
        std::istringstream items(record);
        std::string place, count;
        ArrayInfo array;
        std::getline(items, place, '\x1f');
        std::getline(items, array.name, '\x1f');
        std::getline(items, array.type, '\x1f');
        std::getline(items, count, '\x1f');
        std::getline(items, array.unit, '\x1f');
        array.n_components = std::stoi(count);
        (place == "p" ? arrays.at_points : arrays.at_cells).push_back(array);
    }
    return arrays;
}

void check_maps(const std::vector<std::pair<std::string, std::string>>& maps,
                const std::vector<surrogate_field_info>& inputs,
                const std::vector<surrogate_field_info>& outputs) {
    std::string known;
    const auto is_known = [&](const std::string& name) {
        bool found = false;
        known.clear();
        for (const auto* list : {&inputs, &outputs})
            for (const auto& info : *list) {
                known += (known.empty() ? "'" : ", '") + std::string(info.name) + "'";
                found = found || name == info.name;
            }
        return found;
    };
    for (const auto& [field, array] : maps)
        if (!is_known(field))
            fail("--map " + field + "=" + array + ": the model has no field '" + field +
                 "'; it has " + known);
}

void check_numbers(const FieldRequest& request, const std::vector<surrogate_field_info>& inputs) {
    std::vector<std::string> known;
    std::string list;
    for (const auto& info : inputs) {
        if (info.role != SURROGATE_CLOUD) continue;
        known.emplace_back(info.name);
        list += (list.empty() ? "'" : ", '") + known.back() + "'";
    }
    for (size_t i = 0; i < request.numbers.size(); ++i) {
        const std::string& name = request.numbers[i].first;
        const std::string what = "--set " + name + "=" + number(request.numbers[i].second) + ": ";
        if (std::count(known.begin(), known.end(), name) == 0)
            fail(what + "the model has no number per cloud '" + name + "'; it has " +
                 (list.empty() ? "none" : list));
        for (size_t k = 0; k < i; ++k)
            if (request.numbers[k].first == name) fail(what + "'" + name + "' is given twice");
        if (mapped(request, name))
            fail(what + "the array '" + *mapped(request, name) + "' is given by --map, too");
    }
}

std::vector<FieldSource> FieldPlan::sources() const {
    std::vector<FieldSource> all = inputs;
    all.insert(all.end(), coordinates.begin(), coordinates.end());
    for (const FieldNumber& number : numbers)
        if (number.source) all.push_back(*number.source);
    if (clouds) all.push_back(*clouds);
    return all;
}

FieldPlan plan_fields(const FieldRequest& request, const MeshArrays& arrays,
                      const std::vector<surrogate_field_info>& inputs,
                      const std::vector<surrogate_field_info>& outputs) {
    FieldPlan plan;
    std::vector<surrogate_field_info> read, numbers;
    for (const auto& info : inputs) (info.role == SURROGATE_CLOUD ? numbers : read).push_back(info);
    if (!reads_coordinates(request, inputs))
        std::erase_if(read, [](const surrogate_field_info& info) { return !is_field(info); });
    plan.location = choose_location(request, arrays, names_to_read(request, read, numbers),
                                    plan.other_would_do);
    plan.is_float = true;
    for (const auto& info : read) {
        std::vector<FieldSource>& to = is_field(info) ? plan.inputs : plan.coordinates;
        to.push_back(find_source(request, arrays, plan.location, info));
        plan.is_float = plan.is_float && to.back().array.type == "Float32";
    }
    for (const auto& info : numbers) {
        plan.numbers.push_back({info, number_of(request, info.name), {}});
        if (!plan.numbers.back().value)
            plan.numbers.back().source = find_source(request, arrays, plan.location, info);
    }
    if (!request.clouds.empty()) plan.clouds = find_clouds(request, arrays, plan.location);
    if (!request.weights.empty()) plan.weights = find_weights(request, arrays, plan.location);
    if (read.empty()) plan.is_float = arrays.has_float_coordinates;
    for (const auto& info : outputs) plan.outputs.emplace_back(info, array_name(request, info));
    return plan;
}

}  // namespace surrogate::tool
