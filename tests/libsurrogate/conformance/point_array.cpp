// SPDX-License-Identifier: Apache-2.0
#include "tests/libsurrogate/conformance/point_array.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace surrogate::test {

namespace {

/// Stands where no value is.
template <class T>
constexpr T nothing = std::numeric_limits<T>::min();
template <>
constexpr float nothing<float> = NAN;
template <>
constexpr double nothing<double> = NAN;

}  // namespace

PointArray::PointArray(const Share& share, int64_t n_channel, const Format& format)
    : share_(&share),
      n_channel_(n_channel),
      step_(format.is_planar ? 1 : n_channel + format.gap),
      channel_step_(format.is_planar ? share.n_place + format.gap : 1) {
    const auto n =
        static_cast<size_t>(format.is_planar ? n_channel * channel_step_ : share.n_place * step_);
    if (format.is_integer && format.is_double) values_ = std::vector<int64_t>();
    if (format.is_integer && !format.is_double) values_ = std::vector<int32_t>();
    if (!format.is_integer && format.is_double) values_ = std::vector<double>();
    std::visit([&]<class T>(std::vector<T>& values) { values.assign(n, nothing<T>); }, values_);
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
    const auto is_clean = [&]<class T>(std::vector<T>& values) {
        for (size_t i = 0; i < n_point(); ++i)
            for (int64_t c = 0; c < n_channel_; ++c) values[at(i, c)] = nothing<T>;
        return std::ranges::all_of(values,
                                   [](T value) { return value == nothing<T> || value != value; });
    };
    return std::visit(is_clean, rest.values_);
}

surrogate_array PointArray::all() {
    constexpr int32_t types[] = {SURROGATE_FLOAT32, SURROGATE_FLOAT64, SURROGATE_INT32,
                                 SURROGATE_INT64};
    surrogate_array array{nullptr,
                          {share_->n(), n_channel_},
                          {step_, channel_step_},
                          types[values_.index()],
                          SURROGATE_HOST};
    if (share_->n() == 0) return array;
    std::visit([&](auto& values) { array.data = values.data() + share_->first * step_; }, values_);
    return array;
}

surrogate_array PointArray::channel(int64_t channel) {
    surrogate_array array = all();
    array.shape[1] = 1;
    if (!array.data) return array;
    const int64_t n_byte = values_.index() % 2 == 1 ? 8 : 4;
    array.data = static_cast<char*>(array.data) + channel * channel_step_ * n_byte;
    return array;
}

}  // namespace surrogate::test
