// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <cstdio>

namespace tracking {

std::string text_of(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", number);
    return text;
}

std::function<void(const std::string&)> text_in(std::string* value) {
    return [=](const std::string& text) { *value = text; };
}

void read_options(const std::vector<Option>& known, const std::vector<std::string>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto found = std::find_if(known.begin(), known.end(), [&](const Option& option) {
            return option.flag == arguments[i];
        });
        if (found == known.end())
            throw std::invalid_argument("unknown option '" + arguments[i] +
                                        "'; -help lists the options");
        if (!found->value.empty() && i + 1 == arguments.size())
            throw std::invalid_argument(found->flag + " needs a value: " + found->text);
        found->read(found->value.empty() ? "" : arguments[++i]);
    }
}

std::string help_of(const std::vector<Option>& known) {
    std::string text;
    for (const Option& option : known) {
        std::string head = "  " + option.flag + " " + option.value;
        head.resize(std::max<std::size_t>(head.size() + 1, 28), ' ');
        text += head + option.text + "\n";
    }
    return text;
}

}  // namespace tracking
