// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/range_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coupling/job/text.hpp"

namespace surrogate::tool {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string text_of_range(const surrogate_field_info& field) {
    const std::string unit = field.unit;
    return "[" + number(field.min) + ", " + number(field.max) + "]" +
           (unit.empty() ? "" : " " + unit);
}

/// Counts values[0], values[stride], ..: n values on this rank.
RangeCount count(const Job& job, const surrogate_field_info& field, const double* values,
                 int64_t stride, int64_t n) {
    int64_t n_nan = 0, n_outside = 0;
    double smallest = infinity, largest = -infinity;
    for (int64_t i = 0; i < n; ++i) {
        const double value = values[i * stride];
        n_nan += std::isnan(value) ? 1 : 0;
        n_outside += value >= field.min && value <= field.max ? 0 : 1;
        if (value < smallest) smallest = value;
        if (value > largest) largest = value;
    }
    largest = job.max(largest);
    smallest = -job.max(-smallest);
    RangeCount result{field, job.sum(n_outside), job.sum(n), 0};
    result.worst = largest - field.max >= field.min - smallest ? largest : smallest;
    if (job.sum(n_nan) > 0) result.worst = std::numeric_limits<double>::quiet_NaN();
    return result;
}

}  // namespace

double RangeCount::percent() const {
    return 100.0 * static_cast<double>(n_outside) /
           static_cast<double>(std::max<int64_t>(1, n_points));
}

std::string RangeCount::warning(const std::string& points) const {
    return std::string(field.name) + ": " + number(percent()) + " % of the " + points +
           " are outside " + text_of_range(field) +
           ", the range of the training data; the worst is " + number(worst);
}

std::vector<RangeCount> count_ranges(const Job& job,
                                     const std::vector<surrogate_field_info>& inputs,
                                     const std::vector<double>& x, int64_t n_axis,
                                     const std::vector<std::vector<double>>& fields,
                                     const std::vector<std::vector<double>>& numbers,
                                     const std::vector<int64_t>& clouds) {
    std::vector<RangeCount> counts;
    const auto n = static_cast<int64_t>(x.size()) / n_axis;
    size_t next_field = 0, next_number = 0;
    for (const auto& info : inputs) {
        const bool is_coordinate = info.role == SURROGATE_COORDINATE;
        std::vector<double> at_points;
        const double* values =
            x.data() + static_cast<size_t>(is_coordinate && n > 0 ? info.axis : 0);
        if (info.role == SURROGATE_FIELD) values = fields[next_field++].data();
        if (info.role == SURROGATE_CLOUD) {
            const std::vector<double>& of_clouds = numbers[next_number++];
            for (int64_t i = 0; i < n; ++i)
                at_points.push_back(
                    of_clouds[clouds.empty()
                                  ? 0
                                  : static_cast<size_t>(clouds[static_cast<size_t>(i)])]);
            values = at_points.data();
        }
        if (std::isinf(info.min) && std::isinf(info.max)) continue;
        counts.push_back(count(job, info, values, is_coordinate ? n_axis : 1, n));
    }
    return counts;
}

std::string range_table(const std::vector<RangeCount>& counts) {
    Lines lines;
    for (const RangeCount& c : counts)
        lines.add(c.field.name, number(c.percent()) + " % outside " + text_of_range(c.field));
    std::string text = lines.text();
    if (!text.empty()) text.pop_back();  // the last newline
    return text;
}

}  // namespace surrogate::tool
