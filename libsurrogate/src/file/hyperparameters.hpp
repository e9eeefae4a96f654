// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace surrogate::impl {

/// Reads the hyperparameters of a card, key by key with their defaults, and then rejects the keys
/// that were not read. An absent key and null mean the default. All functions throw Error(bad_file)
/// that names the key, the expected and the found value.
class Hyperparameters {
public:
    /// Keeps a reference: `object` must outlive it. class_name: for the message about unknown keys.
    Hyperparameters(const nlohmann::json& object, std::string class_name)
        : object_(object), class_name_(std::move(class_name)) {}

    bool has(const char* key) { return find(key) != nullptr; }
    int64_t integer(const char* key, int64_t low, int64_t high, int64_t fallback);
    double positive(const char* key, double fallback);
    /// Reads a probability of dropout: at least 0 and below 1.
    double rate(const char* key, double fallback);
    /// Reads a finite number of any sign.
    double number(const char* key, double fallback);
    bool boolean(const char* key, bool fallback);
    std::string text(const char* key, const std::string& fallback);
    /// Reads a list of at most max_count integers, or one integer.
    std::vector<int64_t> integers(const char* key, int64_t low, int64_t high, size_t max_count,
                                  std::vector<int64_t> fallback);

    /// Throws bad_file unless the value is one of `known`; returns its index.
    size_t choice(const char* key, const std::vector<std::string>& known, size_t fallback);

    /// Reads a list of known names, each at most once. Returns their indices in ascending order;
    /// without a list none.
    std::vector<size_t> choices(const char* key, const std::vector<std::string>& known);

    void refuse_unknown() const;

private:
    const nlohmann::json* find(const char* key);

    const nlohmann::json& object_;
    std::string class_name_;
    std::vector<std::string> known_;
};

}  // namespace surrogate::impl
