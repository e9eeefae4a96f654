// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/plan/coordinates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl {

Outside Coordinates::outside(const Domain& domain, const FieldCard& input) {
    Outside outside;
    if (input.axis >= domain.n_axis()) return outside;
    const double* const x = domain.coordinate(input.axis);
    for (int64_t i = 0; i < domain.n_local(); ++i) {
        if (x[i] < input.min || x[i] > input.max) outside.add(x[i], input.min, input.max);
    }
    return outside;
}

Coordinates::Coordinates(const Domain& domain, std::span<const FieldCard> inputs)
    : n_axis_(std::min(domain.n_axis(), max_axis)), n_point_(domain.n_global()) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    int64_t n_outside[max_axis] = {};
    double ends[2 * max_axis];  // the largest, and the largest of -x
    std::ranges::fill(ends, -infinity);
    for (const FieldCard& input : inputs) {
        if (input.is_coordinate && input.axis < n_axis_)
            n_outside[input.axis] = outside(domain, input).n;
    }
    for (int axis = 0; axis < n_axis_; ++axis) {
        const double* const x = domain.coordinate(axis);
        for (int64_t i = 0; i < domain.n_local(); ++i) {
            ends[2 * axis] = std::max(ends[2 * axis], x[i]);
            ends[2 * axis + 1] = std::max(ends[2 * axis + 1], -x[i]);
        }
    }
    Communicator& comm = domain.context().comm();
    comm.all_reduce_sum(std::span<int64_t>(n_outside));
    comm.all_reduce_max(std::span<double>(ends));
    for (int axis = 0; axis < n_axis_; ++axis)
        axes_[static_cast<size_t>(axis)] = {-ends[2 * axis + 1], ends[2 * axis], n_outside[axis]};
}

namespace {

std::string axis_name(int axis) {
    return axis < 3 ? std::string(1, "xyz"[axis]) : std::to_string(axis);
}

std::string extent_text(double low, double high) {
    return low == high ? number_text(low) : number_text(low) + " .. " + number_text(high);
}

}  // namespace

std::vector<std::string> Coordinates::lines(std::span<const FieldCard> inputs) const {
    std::vector<std::string> lines;
    std::string read;
    bool is_read[max_axis] = {};
    if (n_point_ == 0) return lines;
    for (const FieldCard& input : inputs) {
        if (!input.is_coordinate || input.axis >= n_axis_) continue;
        const Axis& axis = axes_[static_cast<size_t>(input.axis)];
        is_read[input.axis] = true;
        read += (read.empty() ? "" : ", ") + input.name;
        std::string line =
            "coordinate " + input.name + " spans " + extent_text(axis.low, axis.high) + ": ";
        if (std::isinf(input.min) && std::isinf(input.max)) {
            line += "the card has no range for it";
        } else {
            line += (axis.n_outside == 0 ? "none" : std::to_string(axis.n_outside)) + " of " +
                    std::to_string(n_point_) + " points outside the card's range " +
                    range_text(input.min, input.max);
        }
        lines.push_back(line);
    }
    for (int a = 0; a < n_axis_ && !inputs.empty(); ++a) {
        const Axis& axis = axes_[static_cast<size_t>(a)];
        if (is_read[a]) continue;
        lines.push_back("coordinate " + axis_name(a) + " of the domain (" +
                        extent_text(axis.low, axis.high) + ") is ignored: the model has " +
                        (read.empty() ? "no coordinates" : read));
    }
    return lines;
}

}  // namespace surrogate::impl
