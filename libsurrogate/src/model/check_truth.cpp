// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/check_truth.hpp"

#include <algorithm>
#include <cmath>

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
        if (!port.is_optional && !has_numbers(entries, "input", port.name)) return CheckTruth::none;
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

/// Returns the largest accepted deviation from the reference. Single precision may differ from the
/// reference by three times the error of the official single precision run, but at least by 2e-6,
/// as that run may be close to the reference by chance, and at most by 1e-3. If only one official
/// run exists, its error is not known and 1e-5 is allowed. This also applies to double precision
/// compared with a single precision reference, as the remaining difference is the error of the
/// reference.
///
/// Double precision is compared to rounding, or to the accuracy of the official double precision
/// run.
///
/// Errors with narrow operands are given by their rounding. Products with operands of 11 bits
/// (tf32, fp16) and 8 bits (bf16) in otherwise exact arithmetic have errors up to 1.1e-3 and 1.3e-2
/// on the FLARE files, and 7e-3 and 2e-2 on one file that magnifies all rounding, including the
/// rounding of the official run (5.7e-6). The limits, 2e-2 and 5e-2, are 3 and 2.5 times the worst
/// of these errors. They are below the effect of the smallest mistake that shapes cannot show: 8 %
/// for a wrong activation function, 34 % for a wrong number of heads.
double check_bound(std::string_view precision, CheckTruth truth, double official, double accuracy) {
    constexpr double single_truth = 1e-5;
    const bool has_both = !std::isnan(official);
    const auto scaled = [&](double factor, double floor, double ceiling) {
        return has_both ? std::min(std::max(factor * official, floor), ceiling) : floor;
    };
    if (precision == "tf32" || precision == "fp16") return scaled(2048, 3e-3, 2e-2);
    if (precision == "bf16") return scaled(8 * 2048, 3e-2, 5e-2);
    if (truth != CheckTruth::double_precision) return single_truth;
    if (precision == "fp64") return accuracy;
    return has_both ? scaled(3, 2e-6, 1e-3) : single_truth;
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
           "remain unchecked";
}

}  // namespace surrogate::impl
