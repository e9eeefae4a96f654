// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/guard_finite.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace surrogate::timeloop {

namespace {

int64_t count_of(std::span<const double> values) {
    constexpr uint64_t exponent = uint64_t{0x7ff} << 52;
    int64_t n = 0;
    for (const double value : values) n += (std::bit_cast<uint64_t>(value) & exponent) == exponent;
    return n;
}

}  // namespace

FiniteGuard::FiniteGuard(Fields* fields, const PointWeights* inputs, const PointWeights* outputs)
    : Guard(Policy::stop),
      fields_(fields),
      inputs_(inputs),
      outputs_(outputs),
      counts_(fields->inputs().size() + fields->outputs().size()) {}

void FiniteGuard::begin() {
    std::ranges::fill(counts_, 0);
}

void FiniteGuard::look_at_input(size_t field, int64_t, std::span<double> values) {
    counts_[field] += count_of(values);
}

void FiniteGuard::look_at_output(size_t field, int64_t, std::span<double> values) {
    counts_[fields_->inputs().size() + field] += count_of(values);
}

bool FiniteGuard::has_bad_input() const {
    const auto end = counts_.begin() + static_cast<int64_t>(fields_->inputs().size());
    return std::any_of(counts_.begin(), end, [](int64_t n) { return n > 0; });
}

void FiniteGuard::write_sums(double* sums) {
    std::ranges::transform(counts_, sums, [](int64_t n) { return static_cast<double>(n); });
}

Finding FiniteGuard::judge(const double* sums) {
    const size_t n_input = fields_->inputs().size();
    for (size_t i = 0; i < counts_.size(); ++i) {
        if (sums[i] == 0) continue;
        const bool is_input = i < n_input;
        Finding finding;
        finding.action = policy();
        finding.field =
            (is_input ? fields_->inputs()[i] : fields_->outputs()[i - n_input]).name.c_str();
        finding.fraction =
            sums[i] / static_cast<double>((is_input ? inputs_ : outputs_)->n_global());
        finding.value = is_input ? 1 : 0;
        return finding;
    }
    return {};
}

void FiniteGuard::describe(const Finding& finding, char* text, size_t size) const {
    std::snprintf(text, size, "finite (%s): %s '%s' is NaN or infinite at %.4g %% of the points",
                  name_of(finding.action), finding.value > 0 ? "input" : "prediction",
                  finding.field, 100 * finding.fraction);
}

}  // namespace surrogate::timeloop
