// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace surrogate::tool {

/// While it lives, the first SIGTERM, SIGINT or SIGUSR1 only asks the program to stop at a good
/// place; the second one does what it did before. (mpirun passes SIGUSR1 on, and batch systems send
/// one ahead of the end of a job if they are asked to.)
class StopRequests {
public:
    StopRequests();
    ~StopRequests();
    StopRequests(const StopRequests&) = delete;
    StopRequests& operator=(const StopRequests&) = delete;

    /// On this rank.
    bool have_come() const;
};

}  // namespace surrogate::tool
