// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace surrogate::tool {

/// Returns three significant digits: "0.0123", "1.2e-07", "nan".
std::string number(double value);

/// Returns "1.5 KB", "200 bytes".
std::string bytes(double n_byte);

/// Returns "200,897".
std::string grouped(int64_t n);

/// Returns the near miss of `word` in `known` (few edits, ignoring case), or "".
std::string near_word(const std::string& word, const std::vector<std::string>& known);

/// Formats lines of a label and a text that begins in the same column.
class Lines {
public:
    void add(std::string label, std::string text) {
        lines_.emplace_back(std::move(label), std::move(text));
    }
    /// Returns all lines, indented by two; continuation lines of a text are indented like its
    /// beginning.
    std::string text() const;

private:
    std::vector<std::pair<std::string, std::string>> lines_;
};

/// Formats rows of cells; columns are as wide as their widest cell, two spaces apart. The first row
/// is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// Returns field and array of "field=array", as given to --map. Throws Failure for any other form.
std::pair<std::string, std::string> parse_map(const std::string& text);

/// Returns the number if the whole text is a finite number.
std::optional<double> finite_number(std::string_view text);

/// Returns input and number of "input=number", as given to --set. Throws Failure for any other
/// form.
std::pair<std::string, double> parse_number(const std::string& text);

}  // namespace surrogate::tool
