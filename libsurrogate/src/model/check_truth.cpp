// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/check_truth.hpp"

#include <algorithm>

namespace surrogate::impl {
namespace {

bool has_numbers(std::span<const TensorEntry> entries, const char* folder,
                 const std::string& port) {
    const std::string name = std::string("check/") + folder + "/" + port;
    return std::ranges::any_of(entries, [&](const TensorEntry& entry) {
        return entry.end > entry.begin && entry.name == name;
    });
}

}  // namespace

bool is_check_tensor(std::string_view name) {
    return name.starts_with("check/input/") || name.starts_with("check/output/") ||
           name.starts_with("check/output64/");
}

CheckTruth check_truth(std::span<const TensorEntry> entries, std::span<const Port> inputs,
                       std::span<const Port> outputs) {
    if (outputs.size() != 1) return CheckTruth::none;
    for (const Port& port : inputs)
        if (!has_numbers(entries, "input", port.name)) return CheckTruth::none;
    const std::string& y = outputs.front().name;
    if (has_numbers(entries, "output64", y)) return CheckTruth::double_precision;
    return has_numbers(entries, "output", y) ? CheckTruth::single_precision : CheckTruth::none;
}

const char* name(CheckTruth truth) {
    switch (truth) {
        case CheckTruth::double_precision: return "double";
        case CheckTruth::single_precision: return "single";
        case CheckTruth::none: break;
    }
    return "none";
}

std::string check_note(CheckTruth truth) {
    switch (truth) {
        case CheckTruth::double_precision: return "";
        case CheckTruth::single_precision:
            return "check case without check/output64: predictions are compared with the official "
                   "run in single precision, whose own error is not known, to 1e-5";
        case CheckTruth::none: break;
    }
    return "no check case: hyperparameters that shapes cannot show (num_heads, activation, scale) "
           "are believed unchecked";
}

}  // namespace surrogate::impl
