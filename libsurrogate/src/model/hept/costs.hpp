// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

/// Input of the plan's cost table besides the model.
struct Work {
    const TokenPlan& plan;
    int64_t n_solver = 0;  ///< solver points on this rank
    int64_t value_bytes = 4;
    int64_t layer_bytes = 0, layer_messages = 0, layer_collectives = 0;  ///< see TokenExchange
    bool is_on_device = false;
    // Devices only:
    /// numbers of a point sent to its owner rank; 0: the solver's rank owns it
    int64_t n_given = 0;
    int64_t coordinate_bytes = 0;  ///< coordinates of ghost tokens sent, once per run
};

/// Returns the lines of the plan's cost table. Local.
std::vector<LayerCost> costs_of(const Config& config, const Work& work);

/// Returns remarks for the plan's table: tokens, blocks, cells, ghost tokens. Local.
std::vector<std::string> notes_of(const Config& config, const Work& work);

}  // namespace surrogate::impl::hept
