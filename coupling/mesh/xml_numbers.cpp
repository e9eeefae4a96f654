// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/xml_numbers.hpp"

#include <algorithm>
#include <charconv>

namespace surrogate::vtk {

namespace {

constexpr std::string_view blank = " \t\r\n";

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(blank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
}

}  // namespace

std::optional<int64_t> integer_of(std::string_view text) {
    text = trimmed(text);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::array<int64_t, 6>> extent_of(std::string_view text) {
    std::array<int64_t, 6> extent{};
    std::string_view rest = trimmed(text);
    for (int64_t& bound : extent) {
        const size_t end = std::min(rest.find_first_of(blank), rest.size());
        const auto value = integer_of(rest.substr(0, end));
        if (!value) return std::nullopt;
        bound = *value;
        rest = trimmed(rest.substr(end));
    }
    if (!rest.empty()) return std::nullopt;
    return extent;
}

double value_bytes(std::string_view type) {
    struct Type {
        std::string_view name;
        double bytes;
    };
    static constexpr Type types[] = {{"Int8", 1},   {"UInt8", 1},   {"Int16", 2},   {"UInt16", 2},
                                     {"Int32", 4},  {"UInt32", 4},  {"Float32", 4}, {"Int64", 8},
                                     {"UInt64", 8}, {"Float64", 8}, {"String", 1},  {"Bit", 0.125}};
    for (const Type& known : types)
        if (type == known.name) return known.bytes;
    return 0;
}

}  // namespace surrogate::vtk
