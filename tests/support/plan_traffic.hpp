// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>
#include <surrogate/surrogate.hpp>

namespace surrogate::test {

/// Bytes and collectives of a run.
struct Traffic {
    int64_t bytes = -1, collectives = -1;
    bool operator==(const Traffic&) const = default;
};

inline std::ostream& operator<<(std::ostream& stream, const Traffic& traffic) {
    return stream << traffic.bytes << " bytes, " << traffic.collectives << " collectives";
}

/// In the line "total of this rank" of a plan's table.
inline Traffic traffic_of_table(const Plan& plan) {
    const std::string table = plan.describe(), title = "total of this rank";
    std::istringstream total(table.substr(table.find(title) + title.size()));
    double flops = 0, exponentials = 0;
    Traffic traffic;
    total >> flops >> exponentials >> traffic.bytes >> traffic.collectives;
    return traffic;
}

/// Returns the traffic of the last run, as counted.
inline Traffic traffic_of_run(const Plan& plan) {
    return {plan.counter("bytes_sent"), plan.counter("collectives")};
}

}  // namespace surrogate::test
