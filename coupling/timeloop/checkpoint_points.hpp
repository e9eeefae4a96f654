// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/timeloop/checkpoint_content.hpp"

namespace surrogate::timeloop {

/// Gives access to this rank's points of one domain of a plan. Local.
struct PlanPoints {
    PlanPoints(const surrogate_plan* plan, bool is_output);

    Model model;
    Domain domain;
    surrogate_domain_info kind = {};  ///< its texts belong to the model
    surrogate_points points = {};     ///< scattered points only; borrowed from the domain
    int64_t n_local = 0, n_global = 0;

    /// Returns the coordinates of this rank's points, (n_local, n_axis).
    std::vector<double> x() const;
    /// Returns true if this rank's parts of both domains use the same memory.
    bool is(const PlanPoints& other) const;
    /// Returns a hash that changes if points of this rank move, appear or disappear.
    uint64_t fingerprint() const;
    /// Returns the description of these points for a file, without the location of their rows.
    /// `n_axis` and `has_id` are valid for all ranks.
    PointsContent content(const std::string& group, int64_t n_axis, bool has_id) const;
};

}  // namespace surrogate::timeloop
