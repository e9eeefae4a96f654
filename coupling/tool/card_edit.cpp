// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/card_edit.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;

constexpr size_t longest_value = 60;  // bytes shown

std::string shown(const json& value) {
    return one_line(value.dump(-1, ' ', true), longest_value);
}

std::string name_of(const json& entry) {
    return entry.is_object() && entry.contains("name") && entry["name"].is_string()
               ? entry["name"].get<std::string>()
               : "";
}

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + one_line(word, 60);
    return text;
}

/// A key of an object, or a list entry by its name or number, and the rest of the path.
struct Step {
    std::string key;   ///< of an object
    size_t index = 0;  ///< of a list
    std::string_view rest;
};

std::string_view behind(std::string_view path, size_t n) {
    return n < path.size() ? path.substr(n + 1) : std::string_view();
}

bool begins_with_name(std::string_view path, const std::string& name) {
    return !name.empty() && path.starts_with(name) &&
           (path.size() == name.size() || path[name.size()] == '.');
}

Step step_into_list(const json& list, std::string_view path, const std::string& whole) {
    std::vector<std::string> names;
    Step step;
    size_t n = 0;  // the longest name has priority
    for (size_t i = 0; i < list.size(); ++i) {
        names.push_back(name_of(list[i]));
        if (!begins_with_name(path, names.back()) || names.back().size() <= n) continue;
        n = names.back().size();
        step = {"", i, behind(path, n)};
    }
    if (n > 0) return step;
    const std::string word(path.substr(0, path.find('.')));
    const bool is_number =
        !word.empty() && word.size() < 7 &&
        std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_number && std::stoul(word) < list.size())
        return {"", std::stoul(word), behind(path, word.size())};
    const std::string near = near_word(word, names);
    fail("'" + one_line(whole) + "': the list has no entry '" + one_line(word) + "', its " +
         std::to_string(list.size()) + " entries are " + join(names) +
         (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

Step step_into_object(const json& object, std::string_view path, const std::string& whole) {
    // The keys of checksums are names with dots.
    for (const auto& [key, value] : object.items())
        if (key.find('.') != std::string::npos && begins_with_name(path, key))
            return {key, 0, behind(path, key.size())};
    const std::string key(path.substr(0, path.find('.')));
    if (key.empty()) fail("'" + one_line(whole) + "' has an empty key");
    return {key, 0, behind(path, key.size())};
}

[[noreturn]] void fail_missing(const json& object, const std::string& key,
                               const std::string& whole) {
    std::vector<std::string> keys;
    for (const auto& [name, value] : object.items()) keys.push_back(name);
    const std::string near = near_word(key, keys);
    fail("'" + one_line(whole) + "': the card has no key '" + one_line(key) + "' there (" +
         join(keys) + ")" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

std::pair<std::string, std::string> parted(const std::string& assignment) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
        fail("--set is '" + one_line(assignment) + "', expected KEY=VALUE");
    return {assignment.substr(0, equals), assignment.substr(equals + 1)};
}

json value_of(const std::string& text) {
    json value = json::parse(text, nullptr, false);
    return value.is_discarded() ? json(text) : value;
}

[[noreturn]] void fail_inside(const json& value, const std::string& whole) {
    fail("'" + one_line(whole) + "' leads into " + shown(value) + ", which has no keys");
}

}  // namespace

std::string set_value(json& card, const std::string& assignment) {
    const auto [whole, text] = parted(assignment);
    json* place = &card;
    bool is_new = false;
    for (std::string_view path = whole; !path.empty();) {
        if (place->is_array()) {
            const Step step = step_into_list(*place, path, whole);
            place = &(*place)[step.index];
            path = step.rest;
            continue;
        }
        if (is_new && place->is_null()) *place = json::object();
        if (!place->is_object()) fail_inside(*place, whole);
        const Step step = step_into_object(*place, path, whole);
        is_new = !place->contains(step.key);
        place = &(*place)[step.key];
        path = step.rest;
    }
    const std::string before = is_new ? "(none)" : shown(*place);
    *place = value_of(text);
    return one_line(whole) + ": " + before + " -> " + shown(*place);
}

std::string remove_value(json& card, const std::string& whole) {
    json* place = &card;
    for (std::string_view path = whole;;) {
        if (place->is_array()) {
            const Step step = step_into_list(*place, path, whole);
            json& entry = (*place)[step.index];
            path = step.rest;
            if (!path.empty()) {
                place = &entry;
                continue;
            }
            const std::string before = shown(entry);
            place->erase(step.index);
            return one_line(whole) + ": " + before + ", removed";
        }
        if (!place->is_object()) fail_inside(*place, whole);
        const Step step = step_into_object(*place, path, whole);
        if (!place->contains(step.key)) fail_missing(*place, step.key, whole);
        json& entry = (*place)[step.key];
        path = step.rest;
        if (!path.empty()) {
            place = &entry;
            continue;
        }
        const std::string before = shown(entry);
        place->erase(step.key);
        return one_line(whole) + ": " + before + ", removed";
    }
}

}  // namespace surrogate::tool
