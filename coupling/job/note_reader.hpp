// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace surrogate::tool {

/// A value of the note of a training checkpoint and its key, "history[2][5]". Anybody may have
/// written the note: functions throw Failure (bad_usage) with the key, the value and what is
/// expected.
class NoteReader {
public:
    /// The value must live as long.
    NoteReader(const nlohmann::json& value, std::string key)
        : value_(&value), key_(std::move(key)) {}

    const nlohmann::json& value() const { return *value_; }

    /// An entry of a list, or of an object, which must have it.
    NoteReader at(size_t index) const;
    NoteReader at(const std::string& key) const;

    int64_t whole(int64_t least, int64_t most) const;
    /// A finite number; NaN where it is null.
    double number() const;
    std::string text() const;
    void require(bool is_right, const std::string& expected) const;

private:
    const nlohmann::json* value_;
    std::string key_;
};

}  // namespace surrogate::tool
