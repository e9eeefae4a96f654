// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/bad_file.hpp"

namespace surrogate::impl {
namespace {

using nlohmann::json;

/// Makes checks that the parser would make too late. Rejects pieces that it would copy before their
/// size can be checked, and zero bytes, which it reads as the end of the text. A piece is a string,
/// or all characters between two strings: the parser stores the characters of the current string or
/// number and all characters up to the next one.
void check_text(std::string_view text, const std::string& what) {
    if (text.size() > json_max_text)
        fail_bad_file(what + ": JSON of " + std::to_string(text.size()) +
                      " bytes, expected at most " + std::to_string(json_max_text));
    bool in_string = false;
    size_t begin = 0;
    for (size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\0') fail_bad_file(what + ": zero byte at offset " + std::to_string(at));
        if (at - begin > json_max_piece)
            fail_bad_file(what + ": more than " + std::to_string(json_max_piece) + " bytes " +
                          (in_string ? "in the string" : "between strings") + " from offset " +
                          std::to_string(begin));
        if (in_string && text[at] == '\\')
            ++at;
        else if (text[at] == '"') {
            in_string = !in_string;
            begin = at;
        }
    }
}

/// Receives the events of nlohmann's text parser (which is iterative; its binary readers recurse
/// and are not used) and builds a tree. Rejects excess depth, excess counts and duplicate keys,
/// which the parser alone would accept.
class TreeBuilder {
public:
    explicit TreeBuilder(const std::string& what) : what_(what) {}
    ~TreeBuilder() { clear_tree(root_); }
    TreeBuilder(const TreeBuilder&) = delete;
    TreeBuilder& operator=(const TreeBuilder&) = delete;

    json take() { return std::move(root_); }

    bool null() { return add(nullptr); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(json::number_integer_t value) { return add(value); }
    bool number_unsigned(json::number_unsigned_t value) { return add(value); }
    bool number_float(json::number_float_t value, const std::string&) { return add(value); }
    bool string(std::string& value) {
        count_string(value);
        return add(std::move(value));
    }
    bool binary(json::binary_t&) { return false; }  // not in text
    bool start_object(size_t) { return open(json::object()); }
    bool start_array(size_t) { return open(json::array()); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool key(std::string& name) {
        count_value();
        count_string(name);
        auto& members = open_.back()->get_ref<json::object_t&>();
        const auto [member, is_new] = members.try_emplace(std::move(name));
        if (!is_new)
            fail_bad_file(what_ + ": duplicate key '" + printable(name) + "'");  // not moved then
        slot_ = &member->second;
        return true;
    }
    bool parse_error(size_t position, const std::string&, const json::exception& error) {
        std::string reason = printable(error.what(), 300);
        if (const size_t end = reason.find("] "); end != std::string::npos)
            reason.erase(0, end + 2);
        fail_bad_file(what_ + ": not valid JSON at offset " + std::to_string(position) + ": " +
                      reason);
    }

private:
    bool add(json value) {
        place(std::move(value));
        return true;
    }
    json* place(json value) {
        count_value();
        if (open_.empty()) return &(root_ = std::move(value));
        if (!open_.back()->is_array()) return &(*slot_ = std::move(value));
        open_.back()->push_back(std::move(value));
        return &open_.back()->back();
    }
    bool open(json value) {
        if (open_.size() == json_max_depth)
            fail_bad_file(what_ + ": nested deeper than " + std::to_string(json_max_depth) +
                          " levels");
        open_.push_back(place(std::move(value)));
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }
    void count_value() {
        if (++n_value_ > json_max_values)
            fail_bad_file(what_ + ": more than " + std::to_string(json_max_values) +
                          " keys and values");
    }
    void count_string(const std::string& text) {
        n_string_byte_ += text.size();
        if (n_string_byte_ > json_max_strings)
            fail_bad_file(what_ + ": strings of more than " + std::to_string(json_max_strings) +
                          " bytes together");
    }

    const std::string& what_;
    json root_;
    std::vector<json*> open_;  // from the root to the innermost open object or array
    json* slot_ = nullptr;     // value of the key read last
    int64_t n_value_ = 0;
    size_t n_string_byte_ = 0;
};

}  // namespace

void clear_tree(json& tree) noexcept {
    if (!tree.is_structured()) return;
    for (json& child : tree) clear_tree(child);
    tree.clear();
}

void erase_key(json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return;
    clear_tree(*found);
    object.erase(found);
}

JsonTree::JsonTree() noexcept = default;
JsonTree::JsonTree(json&& tree) try : root_(std::make_unique<json>(std::move(tree))) {
} catch (...) {
    clear_tree(tree);
}
JsonTree::~JsonTree() {
    if (root_) clear_tree(*root_);
}
JsonTree::JsonTree(const JsonTree& other) {
    if (other.root_) *this = JsonTree(json(*other.root_));
}
JsonTree::JsonTree(JsonTree&& other) noexcept = default;
JsonTree& JsonTree::operator=(const JsonTree& other) {
    return *this = JsonTree(other);
}
JsonTree& JsonTree::operator=(JsonTree&& other) noexcept {
    root_.swap(other.root_);
    return *this;
}
const json& JsonTree::operator*() const noexcept {
    static const json null;
    return root_ ? *root_ : null;
}
json& JsonTree::root() {
    if (!root_) root_ = std::make_unique<json>();
    return *root_;
}

json parse_json(std::string_view text, const std::string& what) {
    check_text(text, what);
    TreeBuilder tree(what);
    json::sax_parse(text, &tree);
    return tree.take();
}

std::string dump_json(const json& value) {
    return value.dump();
}

std::string dump_json_indented(const json& value) {
    return value.dump(2, ' ', true);
}

void require_keys(const json& object, const std::string& where,
                  std::initializer_list<const char*> known) {
    if (!object.is_object())
        fail_bad_file(where + ": expected an object, found " + found_text(object));
    const std::vector<std::string> names(known.begin(), known.end());
    for (const auto& [key, value] : object.items()) {
        if (std::find(names.begin(), names.end(), key) != names.end()) continue;
        std::string all;
        for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
        fail_bad_file(where + ": unknown key '" + printable(key) + "'" + did_you_mean(key, names) +
                      " (known: " + all + ")");
    }
}

const json& member(const json& object, const char* key, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end()) fail_bad_file(where + ": key '" + key + "' is missing");
    return *found;
}

const std::string& string_of(const json& value, const std::string& where) {
    if (!value.is_string())
        fail_bad_file(where + ": expected a string, found " + found_text(value));
    return value.get_ref<const std::string&>();
}

double number_of(const json& value, const std::string& where) {
    if (!value.is_number())
        fail_bad_file(where + ": expected a number, found " + found_text(value));
    return value.get<double>();
}

int64_t count_of(const json& value, const std::string& where, int64_t largest) {
    if (!value.is_number_unsigned())
        fail_bad_file(where + ": expected a non-negative integer, found " + found_text(value));
    if (value.get<uint64_t>() > static_cast<uint64_t>(largest))
        fail_bad_file(where + ": expected at most " + std::to_string(largest) + ", found " +
                      found_text(value));
    return value.get<int64_t>();
}

std::string found_text(const json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "an array of " + std::to_string(value.size()) + " values";
    return printable(value.dump(), 60);
}

}  // namespace surrogate::impl
