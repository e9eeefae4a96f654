// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace surrogate::impl {

/// Checked key = value pairs; the table of keys, with their values and defaults, stands in
/// options.cpp and is the one that surrogate_options_set documents.
class Options {
public:
    /// Throws unknown_name (near misses) or invalid_argument (lists what is allowed).
    void set(std::string_view key, std::string_view value);

    /// Returns the value set here, or the default of the key. Throws unknown_name.
    const std::string& get(std::string_view key) const;

    /// Returns these options on top of `defaults`.
    Options over(const Options& defaults) const;

    /// Returns a line for the log if an old name of version 0.1 was used, or "".
    const std::string& old_names() const { return old_names_; }

    bool operator==(const Options& other) const { return values_ == other.values_; }

private:
    std::map<std::string, std::string, std::less<>> values_;
    std::string old_names_;
};

}  // namespace surrogate::impl
