// SPDX-License-Identifier: Apache-2.0
// Inputs that are one number per cloud: the points of a cloud read its row of the caller's array.
#include <bit>

#include "libsurrogate/src/plan/plan.hpp"

namespace surrogate::impl {

/// Sets the rows that the points of now read. One number is read by all points.
void Plan::set_rows(size_t input) {
    Column& column = inputs_[input];
    const auto* const points = dynamic_cast<const PointDomain*>(input_.get());
    const bool is_one = input_slots_[input].n_row == 1;
    if (is_one) column.stride = 0;
    column.rows = points && points->has_clouds() && !is_one ? points->clouds() : nullptr;
}

std::string Plan::input_row_text(size_t input, int64_t row) const {
    if (!is_per_cloud(input)) return row_text(input_slots_[input].place, row);
    const Column& column = inputs_[input];
    if (is_behind()) return "a cloud before the points moved";
    if (!column.rows && input_->n_cloud() > 1) return "all clouds";
    return row_text(PortPlace::clouds, column.rows ? column.rows[row] : 0);
}

/// Returns ", first in cloud 3" for a number per cloud, otherwise "", also if the points have moved
/// since: their clouds are not known any more.
std::string Plan::cloud_outside_text(size_t input) const {
    const Column& column = inputs_[input];
    if (!is_per_cloud(input) || !column.data || is_behind() || n_state_ > 1) return "";
    for (int64_t i = 0; i < input_->n_local(); ++i) {
        const double value = load(column, i);
        if (value < column.min || value > column.max)
            return ", first in " + input_row_text(input, i);
    }
    return "";
}

namespace {

/// Mixes the bits of a number into a hash (SplitMix64).
uint64_t mixed(uint64_t hash, double value) {
    hash += std::bit_cast<uint64_t>(value) + 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
    return hash ^ (hash >> 31);
}

}  // namespace

void Plan::compare_numbers() {
    if (number_marks_.empty()) return;
    int64_t* mark = number_marks_.data();
    const int64_t n = n_row(PortPlace::clouds);
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (!is_per_cloud(i)) continue;
        const Slot& slot = input_slots_[i];
        Column by_cloud = inputs_[i];
        by_cloud.rows = nullptr;
        const bool fits = slot.is_bound && (slot.n_row == 1 || slot.n_row == n);
        uint64_t hash = 0;
        for (int64_t row = 0; fits && row < n; ++row) hash = mixed(hash, load(by_cloud, row));
        *mark++ = static_cast<int64_t>(hash);
        *mark++ = ~static_cast<int64_t>(hash);
    }
    context().comm().all_reduce_max(std::span(number_marks_));
}

/// A rank with another error comes first.
void Plan::require_same_numbers() const {
    const int64_t* mark = number_marks_.data();
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (!is_per_cloud(i)) continue;
        const int64_t most = *mark++, least = ~*mark++;
        if (most == least) continue;
        throw EchoedError(Status::invalid_argument,
                          "input '" + input_slots_[i].name +
                              "' has other numbers on one rank than on another, expected the same "
                              "numbers per cloud on all ranks; bind the same");
    }
}

}  // namespace surrogate::impl
