// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

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

/// Owns a tree and clears it in the end.
struct JsonTree {
    nlohmann::json root;

    explicit JsonTree(nlohmann::json&& tree) noexcept : root(std::move(tree)) {}
    ~JsonTree() { clear_tree(root); }
    JsonTree(const JsonTree&) = delete;
    JsonTree& operator=(const JsonTree&) = delete;
};

/// Parses a text that may be hostile; `what` names it in errors ("header"). Throws Error(bad_file)
/// with the offset for anything that is not JSON in valid UTF-8, and with the key or the limit for
/// duplicate keys and excess.
nlohmann::json parse_json(std::string_view text, const std::string& what);

// Reading of the tree. `where` names the value in errors: "card key 'inputs[1]'". All throw
// Error(bad_file) that says what was expected and what was found.

/// Refuses every key of `object` that is not known, with near misses; refuses what is not an
/// object.
void require_keys(const nlohmann::json& object, const std::string& where,
                  std::initializer_list<const char*> known);

/// The value of a key that must be there.
const nlohmann::json& member(const nlohmann::json& object, const char* key,
                             const std::string& where);

const std::string& string_of(const nlohmann::json& value, const std::string& where);
double number_of(const nlohmann::json& value, const std::string& where);

/// An integral, non-negative number of at most `largest`; 1.0 and 1e3 are not integral.
int64_t count_of(const nlohmann::json& value, const std::string& where, int64_t largest);

/// What stands there, for messages: "an object", "\"abc\"".
std::string found_text(const nlohmann::json& value);

}  // namespace surrogate::impl
