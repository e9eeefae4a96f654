// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tracking {

/// Settings that both programs have.
struct CommonSettings {
    bool asks_for_help = false;
    int64_t n_event = 1;
    uint64_t seed = 1;  ///< of the first event; the next ones follow
    std::string model;  ///< file of the surrogate; "": without one
    bool is_reproducible = false;
    std::string output;   ///< directory of the files; "": none
    std::string samples;  ///< data set of events to train on; then the program only writes it
};

/// An option of a command line.
struct Option {
    std::string flag, value, text;                 ///< value "": a switch
    std::function<void(const std::string&)> read;  ///< of a switch: called with ""
};

/// Returns "0.5", "3000".
std::string text_of(double number);

/// Returns a reader of a number from least to most.
template <class Number>
std::function<void(const std::string&)> number(const char* flag, Number least, Number most,
                                               Number* result) {
    return [=](const std::string& text) {
        Number value{};
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc() || stop != end || text.empty() ||
            !(value >= least && value <= most))
            throw std::invalid_argument(std::string(flag) + " is " + (text.empty() ? "''" : text) +
                                        ", expected a number from " + text_of(double(least)) +
                                        " to " + text_of(double(most)));
        *result = value;
    };
}

/// Returns a reader of a text.
std::function<void(const std::string&)> text_in(std::string* value);

/// Reads arguments. Throws std::invalid_argument for an unknown option or a missing value.
void read_options(const std::vector<Option>& known, const std::vector<std::string>& arguments);

/// Returns the text of -help: a line per option.
std::string help_of(const std::vector<Option>& known);

}  // namespace tracking
