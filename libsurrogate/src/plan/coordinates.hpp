// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/domain/outside.hpp"
#include "libsurrogate/src/file/card.hpp"

namespace surrogate::impl {

/// Compares the coordinates of a plan's input domain with the model's card: the axes that the model
/// reads, the extent of the points, and the number of points outside the training range. Evaluated
/// when the plan is created, and when points have moved.
class Coordinates {
public:
    Coordinates() = default;
    /// Reduces extents and counts over the ranks; every axis of `inputs` exists in the domain.
    /// Collective; does not allocate.
    Coordinates(const Domain& domain, std::span<const FieldCard> inputs);

    /// Counts this rank's points outside the range of an input that is a coordinate.
    static Outside outside(const Domain& domain, const FieldCard& input);

    /// Returns a line for each coordinate of the model, and for each axis that it ignores; over all
    /// ranks.
    std::vector<std::string> lines(std::span<const FieldCard> inputs) const;

private:
    struct Axis {
        double low = 0, high = 0;
        int64_t n_outside = 0;  ///< of the card's range, if the model reads the axis
    };
    static constexpr int max_axis = PointDomain::max_axis;
    int n_axis_ = 0;
    int64_t n_point_ = 0;
    std::array<Axis, max_axis> axes_;  // over all ranks
};

}  // namespace surrogate::impl
