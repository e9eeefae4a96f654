// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace surrogate::tool {

/// Errors of a file, one line each, in the order in which they were found.
class ConfigErrors {
public:
    explicit ConfigErrors(std::string file) : file_(std::move(file)) {}
    void add(const toml::source_region& at, const std::string& text);
    std::string place(const toml::source_region& at) const;  ///< "train.toml:7:3"
    const std::string& text() const { return text_; }
    bool are_there() const { return !text_.empty(); }

private:
    std::string file_, text_;
};

/// Parses a file. The reader calls itself for each level of keys and tables, so what could exhaust
/// its stack is refused before: more than 32 parts in one key, more than 64 inline tables. Throws
/// Failure (bad_usage) with the place: "train.toml:7:3: ...".
toml::table parse_toml(const std::string& text, const std::string& name);

/// A table of a configuration. A value of another type or range than the one asked for is added to
/// the errors, and the default is returned. Keys that no call has asked for are errors too.
class TomlTable {
public:
    /// name: "[training]", or "" for the file. `table` may be null: an empty one.
    TomlTable(const toml::table* table, std::string name, const toml::source_region& at,
              ConfigErrors* config_errors);

    bool has(const std::string& key) const;
    const toml::node* node(const std::string& key);

    /// A text that is not empty and, since many are names of files, has no zero byte.
    std::string text(const std::string& key, const std::string& absent);
    int64_t whole(const std::string& key, int64_t absent, int64_t least);
    std::optional<double> real(const std::string& key, double least, double largest);
    std::optional<bool> flag(const std::string& key);
    std::string one_of(const std::string& key, const std::vector<std::string>& known);
    /// One text or a list of them.
    std::vector<std::string> texts(const std::string& key);
    TomlTable table(const std::string& key);

    /// A complaint at a key, or at the table where it has no such key.
    void refuse(const std::string& key, const std::string& text);
    /// Complains of keys that were not asked for: with near misses among those that were, and
    /// `also`.
    void finish(const std::vector<std::string>& also = {});

    const toml::table* get() const { return table_; }
    std::string place() const { return config_errors_->place(at_); }
    std::string place_of(const toml::source_region& at) const { return config_errors_->place(at); }

private:
    bool has_zero_byte(const std::string& key, const std::string& text);

    const toml::table* table_;
    std::string name_;
    toml::source_region at_;
    ConfigErrors* config_errors_;
    std::set<std::string> asked_;
};

/// A value as surrogate_trainer_options_set takes it: "1e-3", "true", "adamw"; nothing for tables
/// and lists.
std::optional<std::string> plain_text(const toml::node& node);

}  // namespace surrogate::tool
