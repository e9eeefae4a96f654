// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/guard_bounds.hpp"

#include <cmath>
#include <cstdio>

#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

BoundsGuard::BoundsGuard(Fields* fields, const surrogate_model* model, const PointWeights* points)
    : fields_(fields), model_(model), points_(points), set_(fields->outputs().size()) {
    limits_.resize(set_.size());
}

void BoundsGuard::set_bounds(size_t output, double min, double max) {
    if (std::isnan(min) || std::isnan(max) || min > max)
        fail(SURROGATE_INVALID_ARGUMENT, "bounds of output '" + fields_->outputs()[output].name +
                                             "' are " + std::to_string(min) + " .. " +
                                             std::to_string(max) +
                                             ", expected the first not above the second");
    set_[output] = {min, max};
}

void BoundsGuard::begin() {
    for (size_t i = 0; i < set_.size(); ++i) {
        surrogate_field_info card{};
        require_success(surrogate_model_output(model_, static_cast<int32_t>(i), &card));
        const Bounds bounds = set_[i].value_or(Bounds{card.min, card.max});
        limits_[i].begin(bounds.min, bounds.max, fields_->outputs()[i].array.is_single());
    }
}

void BoundsGuard::look_at_output(size_t field, int64_t, std::span<double> values) {
    limits_[field].look(values, policy() == Policy::correct);
}

Finding BoundsGuard::judge(const double* sums) {
    for (size_t i = 0; i < limits_.size(); ++i) {
        if (sums[i] == 0) continue;
        Finding finding;
        finding.action = policy();
        finding.field = fields_->outputs()[i].name.c_str();
        finding.fraction = sums[i] / static_cast<double>(points_->n_global());
        spoken_ = i;
        return finding;
    }
    return {};
}

void BoundsGuard::describe(const Finding& finding, char* text, size_t size) const {
    std::snprintf(text, size,
                  "bounds (%s): output '%s' is predicted outside its bounds at %.4g %% of the "
                  "points, worst %.6g (bound %.6g)",
                  name_of(finding.action), finding.field, 100 * finding.fraction, finding.value,
                  finding.limit);
}

}  // namespace surrogate::timeloop
