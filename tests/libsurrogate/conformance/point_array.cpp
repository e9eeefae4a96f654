// SPDX-License-Identifier: Apache-2.0
#include "tests/libsurrogate/conformance/point_array.hpp"

#include <algorithm>
#include <cmath>

namespace surrogate::test {

PointArray::PointArray(const Share& share, int64_t n_channel, const Format& format)
    : share_(&share),
      n_channel_(n_channel),
      step_(format.is_planar ? 1 : n_channel + format.gap),
      channel_step_(format.is_planar ? share.n_place + format.gap : 1) {
    const auto n =
        static_cast<size_t>(format.is_planar ? n_channel * channel_step_ : share.n_place * step_);
    if (format.is_double) {
        values_ = std::vector<double>(n, NAN);
    } else {
        values_ = std::vector<float>(n, NAN);
    }
}

void PointArray::set(size_t point, int64_t channel, double value) {
    std::visit([&]<class T>(
                   std::vector<T>& values) { values[at(point, channel)] = static_cast<T>(value); },
               values_);
}

double PointArray::get(size_t point, int64_t channel) const {
    return std::visit(
        [&](const auto& values) { return static_cast<double>(values[at(point, channel)]); },
        values_);
}

void PointArray::set_all(double value) {
    for (size_t i = 0; i < n_point(); ++i)
        for (int64_t c = 0; c < n_channel_; ++c) set(i, c, value);
}

bool PointArray::has_clean_gaps() const {
    PointArray rest = *this;
    rest.set_all(NAN);
    return std::visit(
        [](const auto& values) {
            return std::ranges::all_of(values, [](auto value) { return std::isnan(value); });
        },
        rest.values_);
}

surrogate_array PointArray::all() {
    const bool is_double = std::holds_alternative<std::vector<double>>(values_);
    surrogate_array array{nullptr,
                          {share_->n(), n_channel_},
                          {step_, channel_step_},
                          is_double ? SURROGATE_FLOAT64 : SURROGATE_FLOAT32,
                          SURROGATE_HOST};
    if (share_->n() == 0) return array;
    std::visit([&](auto& values) { array.data = values.data() + share_->first * step_; }, values_);
    return array;
}

surrogate_array PointArray::channel(int64_t channel) {
    surrogate_array array = all();
    array.shape[1] = 1;
    if (!array.data) return array;
    const int64_t n_byte = array.dtype == SURROGATE_FLOAT64 ? 8 : 4;
    array.data = static_cast<char*>(array.data) + channel * channel_step_ * n_byte;
    return array;
}

}  // namespace surrogate::test
