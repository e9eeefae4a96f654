// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/guard_range.hpp"

#include <cstdio>

#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

/// Allowed excess as a fraction of the width. Cards have ranges from data in single precision; a
/// solver with values in double at an end of the range may exceed it by a few units in the last
/// place. This is ten times as much.
constexpr double rounding = 1e-6;

}  // namespace

RangeGuard::RangeGuard(Fields* fields, const surrogate_plan* plan, const surrogate_model* model,
                       const PointWeights* points)
    : fields_(fields), plan_(plan), model_(model), points_(points) {
    int32_t n = 0;
    require_success(surrogate_model_n_inputs(model, &n));
    int n_number = 0;
    for (int32_t i = 0; i < n; ++i) {
        surrogate_field_info info{};
        require_success(surrogate_model_input(model, i, &info));
        const bool is_field = info.role == SURROGATE_FIELD;
        const bool is_number = info.role == SURROGATE_CLOUD;
        inputs_.push_back({info.name, is_field ? static_cast<int>(of_field_.size()) : -1,
                           is_number ? n_number++ : -1});
        if (is_field) of_field_.push_back(static_cast<size_t>(i));
    }
    limits_.resize(inputs_.size());
}

void RangeGuard::begin() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const Input& input = inputs_[i];
        const Field* const field =
            input.field >= 0    ? &fields_->inputs()[static_cast<size_t>(input.field)]
            : input.number >= 0 ? &fields_->numbers()[static_cast<size_t>(input.number)]
                                : nullptr;
        surrogate_field_info card{};
        require_success(surrogate_model_input(model_, static_cast<int32_t>(i), &card));
        limits_[i].begin(card.min, card.max, field && field->array.is_single(), rounding);
        if (input.number >= 0) look_at_numbers(*field, &limits_[i]);
        if (field) continue;
        surrogate_range_info info{};
        require_success(surrogate_plan_range(plan_, static_cast<int32_t>(i), &info));
        limits_[i].note(info.n_outside, info.worst);
    }
}

/// Counts the points of this rank whose cloud has a number outside.
void RangeGuard::look_at_numbers(const Field& number, Limits* limits) const {
    const bool is_one = number.array.n_point() == 1;
    for (int64_t i = 0; i < points_->n_point(); ++i) {
        double value = 0;
        number.array.read(is_one || !points_->clouds() ? 0 : points_->clouds()[i], 1, &value);
        limits->look(std::span(&value, 1), false);
    }
}

void RangeGuard::look_at_input(size_t field, int64_t, std::span<double> values) {
    limits_[of_field_[field]].look(values, policy() == Policy::correct);
}

/// Corrects a field at all points outside, independent of the allowed fraction. Coordinates are not
/// corrected.
Finding RangeGuard::judge(const double* sums) {
    Finding finding;
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const bool corrects = policy() == Policy::correct && inputs_[i].field >= 0;
        const double share = sums[i] / static_cast<double>(points_->n_global());
        if (sums[i] == 0 || (!corrects && share <= share_)) continue;
        const Policy action = policy() == Policy::correct && !corrects ? Policy::warn : policy();
        if (action <= finding.action) continue;
        finding.action = action;
        finding.field = inputs_[i].name.c_str();
        finding.fraction = share;
        spoken_ = i;
    }
    return finding;
}

void RangeGuard::describe(const Finding& finding, char* text, size_t size) const {
    std::snprintf(text, size,
                  "range (%s): input '%s' is outside the range of the training data at %.4g %% of "
                  "the points, worst %.6g (range ends at %.6g)",
                  name_of(finding.action), finding.field, 100 * finding.fraction, finding.value,
                  finding.limit);
}

}  // namespace surrogate::timeloop
