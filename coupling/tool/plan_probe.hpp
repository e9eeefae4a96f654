// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate::tool {

/// Limits of a trial plan that measures the memory of a plan for an untrusted model.
constexpr int64_t trial_bytes = 256'000'000;
constexpr double trial_seconds = 0.4;  ///< of a core; independent of other load

/// Plans the model of `file` on one rank, for n_point scattered points or, if n_point is 0, for the
/// grids of its card, and destroys the plan. Returns false if that exceeds the limits above.
/// Returns true after other errors; the real plan reports them. Throws std::bad_alloc if the
/// machine has no memory within the limits. The work runs in its own thread. A thread that exceeds
/// the time limit cannot be stopped: it keeps running, without MPI, until the program ends by
/// std::_Exit (see has_left_work()). Local.
bool can_plan(const std::string& file, int64_t n_point);

/// Points for any model of points, with the maximum number of dimensions: n points with the ids
/// first .. first + n - 1, with weights for a model that uses them.
struct TrialPoints {
    /// Creates n points from number `first` on. Local. Throws std::bad_alloc or std::length_error.
    TrialPoints(const Model& model, int64_t n, int64_t first);

    /// Creates the domain of the points. Collective.
    Domain domain(const Context& context);

    std::vector<double> x;
    std::vector<int64_t> ids;
    std::vector<double> weights;
};

/// Creates the domain of such points. Collective.
Domain trial_points(const Context& context, const Model& model, int64_t n, int64_t first);

/// Returns true if a thread is still running. The program must then end by std::_Exit.
bool has_left_work();

}  // namespace surrogate::tool
