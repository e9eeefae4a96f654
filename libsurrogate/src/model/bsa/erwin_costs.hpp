// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/erwin_config.hpp"
#include "libsurrogate/src/model/family/program.hpp"

namespace surrogate::impl::bsa::erwin {

/// Quantities of the plan's table besides the model, for this rank.
struct Work {
    struct Level {
        int64_t n_slot = 0, ball = 1;
        int64_t move_bytes = 0;  ///< of x to the rotated order
    };
    int64_t n_point = 0, n_solver = 0;  ///< computed here; of the solver
    int64_t n_edge = 0;                 ///< to the solver's points here
    bool splits_messages = false;       ///< products of an edge's layer are made at the points
    int64_t value_bytes = 4;
    int64_t exchange_items = 0, exchange_messages = 0, exchanges = 0;  ///< of sources, a step
    int64_t moves = 0;                                                 ///< collectives of a move
    std::vector<Level> levels;
};

std::vector<LayerCost> costs_of(const Config& config, const Work& work);

std::vector<std::string> notes_of(const Config& config, int64_t n_point, int64_t n_slot,
                                  bool is_reproducible);

}  // namespace surrogate::impl::bsa::erwin
