// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace surrogate::tool {

/// Reads a value of the note of a training checkpoint and its key, such as "history[2][5]". The
/// note is untrusted: functions throw Failure (bad_usage) with the key, the value and the expected
/// value.
class NoteReader {
public:
    /// Keeps a reference: the value must outlive the reader.
    NoteReader(const nlohmann::json& value, std::string key)
        : value_(&value), key_(std::move(key)) {}

    const nlohmann::json& value() const { return *value_; }

    /// Returns an entry of a list or of an object. Throws if it is missing.
    NoteReader at(size_t index) const;
    NoteReader at(const std::string& key) const;

    int64_t whole(int64_t least, int64_t most) const;
    /// Returns a finite number; NaN for null.
    double number() const;
    std::string text() const;
    void require(bool is_right, const std::string& expected) const;

private:
    const nlohmann::json* value_;
    std::string key_;
};

}  // namespace surrogate::tool
