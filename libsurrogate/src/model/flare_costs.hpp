// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/model/flare_config.hpp"
#include "libsurrogate/src/model/network.hpp"

namespace surrogate::impl {

/// What the table of a FLARE plan depends on besides the model.
struct FlareWork {
    int64_t n_point = 0;   ///< computed by this rank
    int64_t n_solver = 0;  ///< of the solver on this rank
    bool is_reordered = false;
    int64_t value_bytes = 4;                      ///< of a number that is reordered
    int64_t reduction_bytes = 0, reductions = 0;  ///< of one block
};

std::vector<LayerCost> flare_costs(const FlareConfig& config, const FlareWork& work);

}  // namespace surrogate::impl
