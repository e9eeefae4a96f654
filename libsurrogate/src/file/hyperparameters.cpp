// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/hyperparameters.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/json.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::Status;

namespace {

[[noreturn]] void refuse(const std::string& key, const std::string& expected,
                         const nlohmann::json& found) {
    throw Error(Status::bad_file, "card: network." + key + " is " +
                                      printable(dump_json(found), 60) + ", expected " + expected);
}

bool is_integer(const nlohmann::json& value, int64_t low, int64_t high) {
    if (!value.is_number_integer()) return false;
    // An unsigned number beyond int64 would wrap below.
    if (value.is_number_unsigned() &&
        (high < 0 || value.get<uint64_t>() > static_cast<uint64_t>(high)))
        return false;
    return value.get<int64_t>() >= low && value.get<int64_t>() <= high;
}

size_t index_of(const char* key, const std::string& found, const std::vector<std::string>& known) {
    const auto entry = std::ranges::find(known, found);
    if (entry != known.end()) return static_cast<size_t>(entry - known.begin());
    std::string list;
    for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
    throw Error(Status::bad_file, std::string("card: network.") + key + " is '" +
                                      printable(found, 60) + "' (known: " + list + ")" +
                                      did_you_mean(found, known));
}

std::string range_text(int64_t low, int64_t high) {
    return "from " + std::to_string(low) + " to " + std::to_string(high);
}

}  // namespace

int64_t Hyperparameters::integer(const char* key, int64_t low, int64_t high, int64_t fallback) {
    const nlohmann::json* value = find(key);
    if (!value) return fallback;
    if (!is_integer(*value, low, high))
        refuse(key, "a whole number " + range_text(low, high), *value);
    return value->get<int64_t>();
}

double Hyperparameters::positive(const char* key, double fallback) {
    const nlohmann::json* value = find(key);
    if (!value) return fallback;
    if (!value->is_number() || !(value->get<double>() > 0) || !std::isfinite(value->get<double>()))
        refuse(key, "a positive number", *value);
    return value->get<double>();
}

double Hyperparameters::rate(const char* key, double fallback) {
    const nlohmann::json* value = find(key);
    if (!value) return fallback;
    if (!value->is_number() || !(value->get<double>() >= 0 && value->get<double>() < 1))
        refuse(key, "a probability, at least 0 and below 1", *value);
    return value->get<double>();
}

double Hyperparameters::number(const char* key, double fallback) {
    const nlohmann::json* value = find(key);
    if (!value) return fallback;
    if (!value->is_number() || !std::isfinite(value->get<double>()))
        refuse(key, "a finite number", *value);
    return value->get<double>();
}

bool Hyperparameters::boolean(const char* key, bool fallback) {
    const nlohmann::json* value = find(key);
    if (!value) return fallback;
    if (!value->is_boolean()) refuse(key, "true or false", *value);
    return value->get<bool>();
}

std::string Hyperparameters::text(const char* key, const std::string& fallback) {
    const nlohmann::json* value = find(key);
    if (!value) return fallback;
    if (!value->is_string()) refuse(key, "a string", *value);
    return value->get<std::string>();
}

std::vector<int64_t> Hyperparameters::integers(const char* key, int64_t low, int64_t high,
                                               size_t max_count, std::vector<int64_t> fallback) {
    const nlohmann::json* value = find(key);
    if (!value) return fallback;
    if (is_integer(*value, low, high)) return {value->get<int64_t>()};
    const bool is_list = value->is_array() && !value->empty() && value->size() <= max_count &&
                         std::ranges::all_of(*value, [&](const nlohmann::json& element) {
                             return is_integer(element, low, high);
                         });
    if (!is_list) {
        refuse(key,
               "a list of at most " + std::to_string(max_count) + " whole numbers " +
                   range_text(low, high),
               *value);
    }
    return value->get<std::vector<int64_t>>();
}

size_t Hyperparameters::choice(const char* key, const std::vector<std::string>& known,
                               size_t fallback) {
    return index_of(key, text(key, known[fallback]), known);
}

std::vector<size_t> Hyperparameters::choices(const char* key,
                                             const std::vector<std::string>& known) {
    const nlohmann::json* value = find(key);
    std::vector<size_t> found;
    if (!value) return found;
    if (!value->is_array() || value->size() > known.size())
        refuse(key, "a list of at most " + std::to_string(known.size()) + " strings", *value);
    for (const nlohmann::json& element : *value) {
        if (!element.is_string()) refuse(key, "a list of strings", *value);
        found.push_back(index_of(key, element.get<std::string>(), known));
    }
    std::ranges::sort(found);
    if (std::ranges::adjacent_find(found) != found.end())
        refuse(key, "a list of different strings", *value);
    return found;
}

void Hyperparameters::refuse_unknown() const {
    for (const auto& [key, value] : object_.items()) {
        if (std::ranges::find(known_, key) != known_.end()) continue;
        throw Error(Status::bad_file, "card: network." + printable(key) +
                                          " is not a parameter of " + class_name_ +
                                          did_you_mean(key, known_));
    }
}

/// Null where the key is absent or None.
const nlohmann::json* Hyperparameters::find(const char* key) {
    known_.push_back(key);
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace surrogate::impl
