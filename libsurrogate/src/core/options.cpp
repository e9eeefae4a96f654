// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/options.hpp"

#include <algorithm>
#include <vector>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::Status;

namespace {

struct Key {
    std::string name;
    std::vector<std::string> values;  ///< the first is the default
    bool number = false;              ///< a whole number from 1 to 4096 is allowed too
};

const std::vector<Key>& keys() {
    static const std::vector<Key> table = {
        {"threads", {"auto"}, true},
        {"vector", {"auto", "avx512", "avx2", "scalar"}},
        {"backend", {"auto", "ref", "simd", "cuda"}},
        {"precision", {"fp32", "fp64"}},
        {"reproducible", {"false", "true"}},
        {"check_finite", {"true", "false"}},
    };
    return table;
}

const Key& find(std::string_view name) {
    const auto key = std::ranges::find(keys(), name, &Key::name);
    if (key != keys().end()) return *key;
    std::vector<std::string> names;
    std::string list;
    for (const Key& k : keys()) {
        names.push_back(k.name);
        list += (list.empty() ? "" : ", ") + k.name;
    }
    throw Error(Status::unknown_name, "option '" + printable(name) +
                                          "' does not exist (options are: " + list + ")" +
                                          did_you_mean(name, names));
}

bool is_count(std::string_view value) {
    return !value.empty() && value.size() <= 4 &&
           std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; }) &&
           std::stoi(std::string(value)) >= 1 && std::stoi(std::string(value)) <= 4096;
}

}  // namespace

void Options::set(std::string_view name, std::string_view value) {
    const Key& key = find(name);
    const bool listed = std::ranges::find(key.values, value) != key.values.end();
    if (!listed && !(key.number && is_count(value))) {
        std::string allowed;
        for (const std::string& v : key.values) allowed += (allowed.empty() ? "" : ", ") + v;
        if (key.number) allowed += ", or a whole number from 1 to 4096";
        throw Error(Status::invalid_argument, "option '" + key.name + "' cannot be '" +
                                                  printable(value) + "'; it takes " + allowed);
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
    for (const auto& [key, value] : values_) merged.values_[key] = value;
    return merged;
}

}  // namespace surrogate::impl
