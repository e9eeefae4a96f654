// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

/// Quantities of a HEPT plan's table besides the model.
struct Work {
    const TokenPlan& plan;
    int64_t n_solver = 0;  ///< points of the solver on this rank
    int64_t value_bytes = 4;
    int64_t layer_bytes = 0, layer_messages = 0, layer_collectives = 0;  ///< of TokenExchange
    bool is_on_device = false;
    // On devices:
    int64_t n_given = 0;           ///< numbers of a point that go to its home; 0: it is there
    int64_t coordinate_bytes = 0;  ///< of tokens to the ranks that they visit, once a run
};

std::vector<LayerCost> costs_of(const Config& config, const Work& work);

std::vector<std::string> notes_of(const Config& config, const Work& work);

}  // namespace surrogate::impl::hept
