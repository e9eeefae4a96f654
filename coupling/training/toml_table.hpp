// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace surrogate::tool {

/// Collects errors of a file, one line each, in the order in which they were found.
class ConfigErrors {
public:
    explicit ConfigErrors(std::string file) : file_(std::move(file)) {}
    void add(const toml::source_region& at, const std::string& text);
    std::string place(
        const toml::source_region& at) const;  ///< returns, for example, "train.toml:7:3"
    const std::string& text() const { return text_; }
    bool are_there() const { return !text_.empty(); }

private:
    std::string file_, text_;
};

/// Parses a file. The parser recurses for each level of keys and tables, so input that could
/// exhaust its stack is rejected first: more than 32 parts in one key, or more than 64 inline
/// tables. Throws Failure (bad_usage) with the location: "train.toml:7:3: ...".
toml::table parse_toml(const std::string& text, const std::string& name);

/// Reads a table of a configuration. For a value of a wrong type or outside its range it adds an
/// error and returns the default. Keys that were never requested are errors too.
class TomlTable {
public:
    /// Reads a table: `name` is "[training]", for example, or "" for the file. `table` may be null,
    /// which means an empty table.
    TomlTable(const toml::table* table, std::string name, const toml::source_region& at,
              ConfigErrors* config_errors);

    bool has(const std::string& key) const;
    const toml::node* node(const std::string& key);

    /// Returns a text that is not empty and has no zero byte, because many texts are file names.
    std::string text(const std::string& key, const std::string& absent);
    int64_t whole(const std::string& key, int64_t absent, int64_t least);
    std::optional<double> real(const std::string& key, double least, double largest);
    std::optional<bool> flag(const std::string& key);
    std::string one_of(const std::string& key, const std::vector<std::string>& known);
    /// Returns one text or a list of texts as a list.
    std::vector<std::string> texts(const std::string& key);
    TomlTable table(const std::string& key);

    /// Adds an error about a key, or about the table if it does not have the key.
    void refuse(const std::string& key, const std::string& text);
    /// Adds an error for each key that was not requested, with near misses among the requested keys
    /// and `also`.
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

/// Returns the text of a value for surrogate_trainer_options_set: "1e-3", "true", "adamw"; nullopt
/// for tables and lists.
std::optional<std::string> plain_text(const toml::node& node);

/// Returns a value as messages show it: "'1e-3'", "a list", "a table".
std::string shown(const toml::node& node);

}  // namespace surrogate::tool
