// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate::tool {

/// Limits of a trial plan for a model of unknown origin, which measures the memory of a plan.
constexpr int64_t trial_bytes = 256'000'000;
constexpr double trial_seconds = 0.4;  ///< of a core: a busy machine changes nothing

/// Plans the model of `file` on one rank, for n_point scattered points or, if n_point is 0, for the
/// grids of its card, and throws the plan away: false if that takes more than the limits above.
/// True after other errors; the real plan reports them. Throws std::bad_alloc if the machine has no
/// memory within the limits. The work is done in a thread of its own; one that runs out of time
/// cannot be stopped: it is left behind, without MPI, and does not outlive has_left_work()'s
/// std::_Exit. Local.
bool can_plan(const std::string& file, int64_t n_point);

/// Points for any model of points, in as many dimensions as any asks for: n with the ids first ..
/// first + n - 1.
struct TrialPoints {
    /// Local. Throws std::bad_alloc or std::length_error.
    TrialPoints(int64_t n, int64_t first);

    /// Collective.
    Domain domain(const Context& context);

    std::vector<double> x;
    std::vector<int64_t> ids;
};

/// Makes the domain of such points. Collective.
Domain trial_points(const Context& context, int64_t n, int64_t first);

/// The program must end by std::_Exit.
bool has_left_work();

}  // namespace surrogate::tool
