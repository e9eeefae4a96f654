// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/context/options.hpp"

#include <algorithm>
#include <vector>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/renamed.hpp"
#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::Status;

namespace {

struct Key {
    std::string name;
    std::vector<std::string> values;  ///< the first is the default
    int least = 0, most = -1;         ///< whole numbers that are allowed too, if any
    bool takes_numbers() const { return most >= least; }
};

const std::vector<Key>& keys() {
    static const std::vector<Key> table = {
        {"threads", {"auto"}, 1, 4096},
        {"vector", {"auto", "avx512", "avx2", "neon", "scalar"}},
        {"backend", {"auto", "ref", "simd", "cuda"}},
        {"precision", {"fp32", "fp64", "tf32", "fp16", "bf16"}},
        {"device", {"auto"}, 0, 1023},
        {"timeout_s", {"0"}, 0, 86400},
        {"reproducible", {"false", "true"}},
        {"check_finite", {"true", "false"}},
        {"agree", {"false", "true"}},
        {"range", {"count", "warn", "error"}},
        {"coordinates", {"physical", "normalized"}},
        {"gradients", {"false", "true", "recompute", "inputs"}},
        {"states", {"1"}, 1, 99999},
        {"allow_code", {"false", "true"}},
    };
    return table;
}

const Key& find(std::string_view name) {
    const auto key = std::ranges::find(keys(), name, &Key::name);
    if (key != keys().end()) return *key;
    std::vector<std::string> names;
    for (const Key& k : keys()) names.push_back(k.name);
    throw Error(Status::unknown_name, no_such_text("option", name, names));
}

/// Values of option coordinates that have other names since version 0.1.
constexpr RenamedName renamed_coordinates[] = {{"card", "physical"}, {"network", "normalized"}};

bool is_number_of(const Key& key, std::string_view value) {
    if (!key.takes_numbers() || value.empty() || value.size() > 5) return false;
    if (!std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; })) return false;
    const int number = std::stoi(std::string(value));
    return number >= key.least && number <= key.most;
}

}  // namespace

void Options::set(std::string_view name, std::string_view value) {
    const Key& key = find(name);
    if (key.name == "coordinates") {
        const std::string_view present = present_name(renamed_coordinates, value);
        if (present != value) old_names_ = renamed_text("option value coordinates", value, present);
        value = present;
    }
    const bool listed = std::ranges::find(key.values, value) != key.values.end();
    if (!listed && !is_number_of(key, value)) {
        std::string allowed;
        for (const std::string& v : key.values) allowed += (allowed.empty() ? "" : ", ") + v;
        if (key.takes_numbers()) {
            allowed += ", or a whole number from " + std::to_string(key.least) + " to " +
                       std::to_string(key.most);
        }
        throw Error(Status::invalid_argument, "invalid value '" + printable(value) +
                                                  "' for option '" + key.name + "'; expected " +
                                                  allowed);
    }
    values_[key.name] = value;
}

const std::string& Options::get(std::string_view name) const {
    const Key& key = find(name);
    const auto found = values_.find(key.name);
    return found == values_.end() ? key.values.front() : found->second;
}

Options Options::over(const Options& defaults) const {
    Options merged = defaults;
    if (!old_names_.empty()) merged.old_names_ = old_names_;
    for (const auto& [key, value] : values_) merged.values_[key] = value;
    return merged;
}

}  // namespace surrogate::impl
