// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/case/check_case.hpp"

namespace surrogate::tool {

/// This rank's part of one domain of the case.
struct Share {
    Domain domain;
    std::vector<int64_t> points;  ///< their numbers in the whole domain, in the order of the fields
    bool is_sphere = false;
    int64_t n() const { return static_cast<int64_t>(points.size()); }
};

/// Returns the parts of the input and the output domain under a named partition; one part if both
/// domains are equal. Collective. Scattered points have the ids of the case, or their row as id,
/// and the positions of the case, or no coordinates.
std::vector<Share> make_shares(const Job& job, const Context& context, const LoadedCase& loaded,
                               const std::string& partition);

}  // namespace surrogate::tool
