// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/card.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/hidden_characters.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/bad_file.hpp"
#include "libsurrogate/src/file/json.hpp"
#include "libsurrogate/src/file/unit.hpp"

namespace surrogate::impl {
namespace {

using nlohmann::json;

constexpr int64_t newest_format = 1;

std::string key_text(const std::string& key) {
    return "card key '" + key + "'";
}

void parse_format(const json& card) {
    const std::string where = key_text("format");
    const int64_t format =
        count_of(member(card, "format", "card"), where, std::numeric_limits<int64_t>::max());
    if (format > newest_format)
        fail_bad_file(where + ": format " + std::to_string(format) +
                      " was written by a newer version; this library reads format " +
                      std::to_string(newest_format));
    if (format < 1) fail_bad_file(where + ": expected 1, found 0");
}

std::string parse_name(const json& value, const std::string& where) {
    const std::string& name = string_of(value, where);
    if (name.empty()) fail_bad_file(where + ": expected a name, found \"\"");
    return name;
}

/// Hosts print names, and ask for fields by what they see.
void require_visible(const std::string& name, const std::string& where) {
    const size_t at = first_hidden(name);
    if (at == std::string::npos) return;
    fail_bad_file(where + ": the name '" + printable(name, 60) +
                  "' contains a control or format character at offset " + std::to_string(at));
}

const json& parse_object(const json& value, const std::string& where) {
    if (!value.is_object())
        fail_bad_file(where + ": expected an object, found " + found_text(value));
    return value;
}

JsonTree copied_object(const json& value, const std::string& where) {
    return JsonTree(json(parse_object(value, where)));
}

void parse_role(const json& value, const std::string& path, bool is_input, FieldCard& field) {
    if (!value.contains("role")) return;
    const std::string where = key_text(path + ".role");
    const std::string& role = string_of(value["role"], where);
    field.is_coordinate = is_input && role == "coordinate";
    field.is_cloud = is_input && role == "cloud";
    field.is_class = !is_input && role == "class";
    if (field.is_coordinate || field.is_cloud || field.is_class || role == "field") return;
    fail_bad_file(where + ": expected " + (is_input ? "\"coordinate\", \"cloud\"" : "\"class\"") +
                  " or \"field\", found " + found_text(value["role"]));
}

void parse_axis(const json& value, const std::string& path, FieldCard& field) {
    const std::string where = key_text(path + ".axis");
    if (field.is_coordinate)
        field.axis = static_cast<int>(count_of(member(value, "axis", key_text(path)), where, 7));
    else if (value.contains("axis"))
        fail_bad_file(where + ": only inputs with \"role\": \"coordinate\" have an axis");
}

/// A class has the logit of the network, without unit and scale.
void check_class(const json& value, const std::string& path, const FieldCard& field) {
    if (!field.is_class) return;
    const auto require = [&](bool is_right, const char* key, const char* expected) {
        if (is_right) return;
        fail_bad_file(key_text(path + "." + key) + ": found " + found_text(value[key]) +
                      " for an output with \"role\": \"class\", expected " + expected);
    };
    require(field.unit.empty() || field.unit == "1", "unit", "\"1\"");
    require(field.mean == 0, "mean", "0");
    require(field.std == 1, "std", "1");
    for (const char* key : {"min", "max"}) require(!value.contains(key), key, "no range");
}

void parse_numbers(const json& value, const std::string& path, FieldCard& field) {
    const std::string where = key_text(path);
    field.mean = number_of(member(value, "mean", where), key_text(path + ".mean"));
    field.std = number_of(member(value, "std", where), key_text(path + ".std"));
    if (!(field.std > 0))
        fail_bad_file(key_text(path + ".std") + ": expected a number above 0, found " +
                      found_text(value["std"]));
    const double infinity = std::numeric_limits<double>::infinity();
    field.min =
        value.contains("min") ? number_of(value["min"], key_text(path + ".min")) : -infinity;
    field.max = value.contains("max") ? number_of(value["max"], key_text(path + ".max")) : infinity;
    if (field.min > field.max)
        fail_bad_file(key_text(path + ".max") + ": expected at least min = " +
                      found_text(value["min"]) + ", found " + found_text(value["max"]));
}

FieldCard parse_field(const json& value, const std::string& path, bool is_input) {
    const std::string where = key_text(path);
    if (is_input)
        require_keys(value, where, {"name", "role", "axis", "unit", "mean", "std", "min", "max"});
    else
        require_keys(value, where, {"name", "role", "unit", "mean", "std", "min", "max"});
    FieldCard field;
    field.name = parse_name(member(value, "name", where), key_text(path + ".name"));
    require_visible(field.name, key_text(path + ".name"));
    const std::string where_unit = key_text(path + ".unit");
    field.unit = string_of(member(value, "unit", where), where_unit);
    if (const std::string problem = unit_problem(field.unit); !problem.empty())
        fail_bad_file(where_unit + ": expected a unit like \"m^2/(Pa s)\", or \"1\" for none; '" +
                      printable(field.unit) + "' " + problem);
    parse_role(value, path, is_input, field);
    if (is_input) parse_axis(value, path, field);
    parse_numbers(value, path, field);
    check_class(value, path, field);
    return field;
}

std::vector<FieldCard> parse_fields(const json& card, const std::string& key) {
    const json& list = card[key];
    if (!list.is_array() || list.empty())
        fail_bad_file(key_text(key) + ": expected an array of at least one object, found " +
                      found_text(list));
    std::vector<FieldCard> fields;
    std::set<std::string> names;
    std::set<int> axes;
    for (const json& value : list) {
        const std::string path = key + "[" + std::to_string(fields.size()) + "]";
        fields.push_back(parse_field(value, path, key == "inputs"));
        const FieldCard& field = fields.back();
        if (!names.insert(field.name).second)
            fail_bad_file(key_text(path + ".name") + ": '" + printable(field.name) +
                          "' appears twice");
        if (field.is_coordinate && !axes.insert(field.axis).second)
            fail_bad_file(key_text(path + ".axis") + ": axis " + std::to_string(field.axis) +
                          " appears twice");
    }
    return fields;
}

void check_classes(const std::vector<FieldCard>& outputs) {
    for (size_t i = 1; i < outputs.size(); ++i) {
        if (outputs[i].is_class == outputs[0].is_class) continue;
        fail_bad_file(key_text("outputs[" + std::to_string(i) + "].role") + ": '" +
                      printable(outputs[i].name) + "' is " +
                      (outputs[i].is_class ? "a class" : "a field") + " and '" +
                      printable(outputs[0].name) +
                      "' is not, expected \"class\" for all outputs or for none");
    }
}

void parse_pooled_of(const json& value, Card& card) {
    std::vector<std::string> fields;
    for (const FieldCard& input : card.inputs)
        if (!input.is_coordinate && !input.is_cloud) fields.push_back(input.name);
    card.pooled = parse_pooled(value, fields);
}

json parse_conventions(const json& card) {
    json conventions = json::object();
    for (const char* key : {"conventions", "theta_cutoff_rule", "basis_norm_mode"}) {
        if (!card.contains(key)) continue;
        if (!card[key].is_object()) string_of(card[key], key_text(key));
        conventions[key] = card[key];
    }
    return conventions;
}

std::map<std::string, uint64_t> parse_checksums(const json& value) {
    std::map<std::string, uint64_t> checksums;
    for (const auto& [tensor, digits] : parse_object(value, key_text("checksums")).items()) {
        const std::string where = key_text("checksums") + " tensor '" + printable(tensor) + "'";
        checksums[tensor] = parse_checksum(string_of(digits, where), where);
    }
    return checksums;
}

}  // namespace

Card parse_card(std::string_view text) {
    const JsonTree tree(parse_json(text, "card"));
    const json& root = *tree;
    require_keys(root, "card",
                 {"format", "family", "network", "inputs", "outputs", "pooled", "provenance",
                  "conventions", "theta_cutoff_rule", "basis_norm_mode", "checksums"});
    parse_format(root);
    Card card;
    card.family = parse_name(member(root, "family", "card"), key_text("family"));
    card.network = copied_object(member(root, "network", "card"), key_text("network"));
    if (root.contains("inputs") != root.contains("outputs"))
        fail_bad_file(std::string("card: key '") +
                      (root.contains("inputs") ? "outputs" : "inputs") +
                      "' is missing; give both, or neither for a bare network");
    if (root.contains("inputs")) {
        card.inputs = parse_fields(root, "inputs");
        card.outputs = parse_fields(root, "outputs");
        check_classes(card.outputs);
    }
    if (root.contains("pooled")) parse_pooled_of(root["pooled"], card);
    card.provenance = JsonTree(json::object());
    if (root.contains("provenance"))
        card.provenance = copied_object(root["provenance"], key_text("provenance"));
    card.conventions = JsonTree(parse_conventions(root));
    if (root.contains("checksums")) card.checksums = parse_checksums(root["checksums"]);
    return card;
}

uint64_t parse_checksum(std::string_view digits, const std::string& where) {
    const bool is_hex = digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    if (digits.size() != 16 || !is_hex)
        fail_bad_file(where + ": expected 16 lower-case hex digits, found '" + printable(digits) +
                      "'");
    uint64_t number = 0;
    for (const char c : digits)
        number = number << 4 | static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    return number;
}

}  // namespace surrogate::impl
