// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace surrogate::tool {

/// Three significant digits: "0.0123", "1.2e-07", "nan".
std::string number(double value);

/// "1.5 KB", "200 bytes"
std::string bytes(double n_byte);

/// "200,897"
std::string grouped(int64_t n);

/// The one of `known` that a person may have meant by `word` (few edits, letter case aside), or "".
std::string near_word(const std::string& word, const std::vector<std::string>& known);

/// Lines of a label and a text that begins in the same column.
class Lines {
public:
    void add(std::string label, std::string text) {
        lines_.emplace_back(std::move(label), std::move(text));
    }
    /// All lines, indented by two; continuation lines of a text are indented like its beginning.
    std::string text() const;

private:
    std::vector<std::pair<std::string, std::string>> lines_;
};

/// Rows of cells; columns as wide as their widest cell, two spaces apart. The first row is the
/// heading.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// Returns field and array of "field=array", as given to --map. Throws Failure for any other form.
std::pair<std::string, std::string> parse_map(const std::string& text);

}  // namespace surrogate::tool
