// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/toml_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"

namespace surrogate::tool {

namespace {

std::string in(const std::string& table) {
    return table.empty() ? "" : " in " + table;
}

std::string shortest(double value) {
    std::array<char, 40> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

/// Counts elements that make the parser recurse. Ignores quotes and comments, so that a text cannot
/// hide a key: dots and braces in texts count, too.
void check_depth(const std::string& text, const std::string& name) {
    constexpr int most_parts = 32, most_tables = 64;
    int n_dot = 0, n_table = 0, line = 1;
    char before = '\n';
    const auto refuse = [&](const std::string& what, int most) {
        throw Failure(Exit::bad_usage, name + ":" + std::to_string(line) + ": too many " + what +
                                           ", expected at most " + std::to_string(most));
    };
    for (const char c : text) {
        if (c == '\n') ++line;
        if (c == '{' && ++n_table > most_tables) refuse("inline tables", most_tables);
        const bool is_end = std::string_view("\n=,[]{}").find(c) != std::string_view::npos;
        // Two dots in a row end a key, which is an error.
        if (is_end || (c == '.' && before == '.'))
            n_dot = 0;
        else if (c == '.' && ++n_dot >= most_parts)
            refuse("parts in one key", most_parts);
        if (c != ' ' && c != '\t') before = c;
    }
}

}  // namespace

toml::table parse_toml(const std::string& text, const std::string& name) {
    check_depth(text, name);
    try {
        return toml::parse(text, name);
    } catch (const toml::parse_error& error) {
        throw Failure(Exit::bad_usage, ConfigErrors(name).place(error.source()) + ": " +
                                           std::string(error.description()));
    }
}

std::string ConfigErrors::place(const toml::source_region& at) const {
    return file_ + ":" + std::to_string(at.begin.line) + ":" + std::to_string(at.begin.column);
}

void ConfigErrors::add(const toml::source_region& at, const std::string& text) {
    text_ += (text_.empty() ? "" : "\n") + (at.begin ? place(at) : file_) + ": " + text;
}

TomlTable::TomlTable(const toml::table* table, std::string name, const toml::source_region& at,
                     ConfigErrors* config_errors)
    : table_(table), name_(std::move(name)), at_(at), config_errors_(config_errors) {}

bool TomlTable::has(const std::string& key) const {
    return table_ != nullptr && table_->contains(key);
}

const toml::node* TomlTable::node(const std::string& key) {
    asked_.insert(key);
    return table_ == nullptr ? nullptr : table_->get(key);
}

void TomlTable::refuse(const std::string& key, const std::string& text) {
    const toml::node* const at = table_ == nullptr ? nullptr : table_->get(key);
    config_errors_->add(at != nullptr ? at->source() : at_, text);
}

std::string TomlTable::text(const std::string& key, const std::string& absent) {
    const toml::node* const found = node(key);
    if (found == nullptr) return absent;
    if (const auto* text = found->as_string(); text != nullptr && !text->get().empty())
        return has_zero_byte(key, text->get()) ? absent : text->get();
    refuse(key, "'" + key + "' is " + shown(*found) + ", expected a text in quotes");
    return absent;
}

int64_t TomlTable::whole(const std::string& key, int64_t absent, int64_t least) {
    const toml::node* const found = node(key);
    if (found == nullptr) return absent;
    if (const auto* number = found->as_integer(); number != nullptr && number->get() >= least)
        return number->get();
    refuse(key, "'" + key + "' is " + shown(*found) + ", expected a whole number from " +
                    std::to_string(least) + " on");
    return absent;
}

std::optional<double> TomlTable::real(const std::string& key, double least, double largest) {
    const toml::node* const found = node(key);
    if (found == nullptr) return std::nullopt;
    const auto value = found->is_number() ? found->value<double>() : std::nullopt;
    if (value && *value >= least && *value <= largest) return value;
    const std::string range = std::isinf(largest)
                                  ? "of " + number(least) + " or more"
                                  : "between " + number(least) + " and " + number(largest);
    refuse(key, "'" + key + "' is " + shown(*found) + ", expected a number " + range);
    return std::nullopt;
}

std::optional<bool> TomlTable::flag(const std::string& key) {
    const toml::node* const found = node(key);
    if (found == nullptr) return std::nullopt;
    if (const auto* value = found->as_boolean()) return value->get();
    refuse(key, "'" + key + "' is " + shown(*found) + ", expected true or false");
    return std::nullopt;
}

std::string TomlTable::one_of(const std::string& key, const std::vector<std::string>& known) {
    const std::string word = text(key, known.front());
    for (const std::string& candidate : known)
        if (candidate == word) return word;
    std::string all;
    for (const std::string& candidate : known) all += (all.empty() ? "" : ", ") + candidate;
    refuse(key, "'" + key + "' is '" + one_line(word, 60) + "', expected one of " + all);
    return known.front();
}

std::vector<std::string> TomlTable::texts(const std::string& key) {
    const toml::node* const found = node(key);
    if (found == nullptr) return {};
    if (found->is_string()) return {text(key, "")};
    std::vector<std::string> list;
    if (const toml::array* const array = found->as_array())
        for (const toml::node& entry : *array)
            if (const auto* text = entry.as_string()) list.push_back(text->get());
    if (!found->is_array() || list.size() != found->as_array()->size() || list.empty()) {
        refuse(key, "'" + key + "' is " + shown(*found) + ", expected a text or a list of texts");
        return {};
    }
    for (const std::string& text : list)
        if (has_zero_byte(key, text)) return {};
    return list;
}

/// Returns true for a zero byte, at which names of files would end.
bool TomlTable::has_zero_byte(const std::string& key, const std::string& text) {
    if (text.find('\0') == std::string::npos) return false;
    refuse(key,
           "'" + key + "' is '" + one_line(text, 60) + "', expected a text without zero bytes");
    return true;
}

TomlTable TomlTable::table(const std::string& key) {
    const toml::node* const found = node(key);
    const std::string name =
        "[" + (name_.empty() ? key : name_.substr(1, name_.size() - 2) + "." + key) + "]";
    if (found == nullptr) return {nullptr, name, at_, config_errors_};
    if (!found->is_table()) refuse(key, "'" + key + "' is " + shown(*found) + ", expected a table");
    return {found->as_table(), name, found->source(), config_errors_};
}

void TomlTable::finish(const std::vector<std::string>& also) {
    if (table_ == nullptr) return;
    std::vector<std::string> known(asked_.begin(), asked_.end());
    known.insert(known.end(), also.begin(), also.end());
    for (const auto& [key, value] : *table_) {
        const std::string word(key.str());
        if (std::find(known.begin(), known.end(), word) != known.end()) continue;
        const std::string near = near_word(word, known);
        config_errors_->add(key.source(),
                            "unknown key '" + one_line(word, 60) + "'" + in(name_) +
                                (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
}

std::optional<std::string> plain_text(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* number = node.as_floating_point()) return shortest(number->get());
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    return std::nullopt;
}

std::string shown(const toml::node& node) {
    if (const auto text = plain_text(node)) return "'" + one_line(*text, 60) + "'";
    return node.is_array() ? "a list" : "a table";
}

}  // namespace surrogate::tool
