// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/timeloop/checkpoint_content.hpp"

namespace surrogate::timeloop {

/// A domain of a plan as this rank knows it. Local.
struct PlanPoints {
    PlanPoints(const surrogate_plan* plan, bool is_output);

    Model model;
    Domain domain;
    surrogate_domain_info kind = {};  ///< its texts belong to the model
    surrogate_points points = {};     ///< of scattered points; the memory is the domain's
    int64_t n_local = 0, n_global = 0;

    /// Coordinates of this rank's points, (n_local, n_axis).
    std::vector<double> x() const;
    /// Returns whether this rank's part of two domains is the same memory.
    bool is(const PlanPoints& other) const;
    /// A number that tells whether points have moved, come or gone on this rank.
    uint64_t fingerprint() const;
    /// Description of these points in a file, without the location of their rows. n_axis and has_id
    /// are those of all ranks.
    PointsContent content(const std::string& group, int64_t n_axis, bool has_id) const;
};

}  // namespace surrogate::timeloop
