// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace surrogate::tool {

/// While an object exists, the first SIGTERM, SIGINT or SIGUSR1 only requests a stop at the next
/// suitable time. The second signal has its previous effect. (mpirun forwards SIGUSR1, and batch
/// systems can send it before the end of a job.)
class StopRequests {
public:
    StopRequests();
    ~StopRequests();
    StopRequests(const StopRequests&) = delete;
    StopRequests& operator=(const StopRequests&) = delete;

    /// Returns true if this rank has received a signal.
    bool have_come() const;
};

}  // namespace surrogate::tool
