// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace surrogate::impl {

// Limits of a JSON text inside a model file. Text, tree and what the parser keeps stay under 32 MB
// together: 8 MB of text, 100,000 values of at most 110 bytes and their strings, and 6 MB for the
// longest pieces.
constexpr size_t json_max_text = size_t{8} << 20;
constexpr size_t json_max_depth = 8;
constexpr int64_t json_max_values = 100'000;          ///< keys and values together
constexpr size_t json_max_piece = size_t{1} << 20;    ///< bytes of a string, or between two strings
constexpr size_t json_max_strings = size_t{2} << 20;  ///< bytes of all strings

/// Empties a tree of limited depth, taking no memory: nlohmann's own destructor takes some to
/// flatten what it destroys, and ends the program if there is none. For every tree that is about to
/// go.
void clear_tree(nlohmann::json& tree) noexcept;

/// Removes a key of an object, if it is there, with clear_tree().
void erase_key(nlohmann::json& object, const char* key);

/// Owns a tree and clears it in the end. Headers that hold one do not need the definition of
/// nlohmann::json, which costs every file that includes it a second. A default tree is the value
/// null and allocates nothing.
class JsonTree {
public:
    JsonTree() noexcept;
    /// Throws bad_alloc, after clearing `tree`.
    explicit JsonTree(nlohmann::json&& tree);
    ~JsonTree();
    JsonTree(const JsonTree& other);
    JsonTree(JsonTree&& other) noexcept;
    JsonTree& operator=(const JsonTree& other);
    JsonTree& operator=(JsonTree&& other) noexcept;

    const nlohmann::json& operator*() const noexcept;
    const nlohmann::json* operator->() const noexcept { return &**this; }
    /// Returns the tree to change. Allocates if the tree is a default one.
    nlohmann::json& root();

private:
    std::unique_ptr<nlohmann::json> root_;
};

/// Parses an untrusted text; `what` names it in errors ("header"). Throws Error(bad_file) with the
/// offset for anything that is not JSON in valid UTF-8, and with the key or the limit for duplicate
/// keys and excess.
nlohmann::json parse_json(std::string_view text, const std::string& what);

/// Returns the value as JSON text, on one line. Throws nlohmann's type_error for a string that is
/// not UTF-8.
std::string dump_json(const nlohmann::json& value);

/// Returns the value as JSON text in ASCII, indented by two spaces per level.
std::string dump_json_indented(const nlohmann::json& value);

// Reading of the tree. `where` names the value in errors: "card key 'inputs[1]'". All throw
// Error(bad_file) that says what was expected and what was found.

/// Throws Error(bad_file) for every key of `object` that is not known, with near misses, and if
/// `object` is not an object.
void require_keys(const nlohmann::json& object, const std::string& where,
                  std::initializer_list<const char*> known);

/// Returns the value of a key that must be there.
const nlohmann::json& member(const nlohmann::json& object, const char* key,
                             const std::string& where);

const std::string& string_of(const nlohmann::json& value, const std::string& where);
double number_of(const nlohmann::json& value, const std::string& where);

/// Reads an integral, non-negative number of at most `largest`; 1.0 and 1e3 are not integral.
int64_t count_of(const nlohmann::json& value, const std::string& where, int64_t largest);

/// Describes a value for messages: "an object", "\"abc\"".
std::string found_text(const nlohmann::json& value);

}  // namespace surrogate::impl
