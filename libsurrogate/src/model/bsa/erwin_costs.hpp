// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/erwin_config.hpp"
#include "libsurrogate/src/model/family/program.hpp"

namespace surrogate::impl::bsa::erwin {

/// Input of the plan's cost table besides the model, for this rank.
struct Work {
    struct Level {
        int64_t n_slot = 0, ball = 1;
        int64_t move_bytes = 0;  ///< x to the rotated order
    };
    int64_t n_point = 0, n_solver = 0;  ///< computed on this rank; points of the solver
    int64_t n_message_point = 0;        ///< points whose messages this rank computes
    int64_t n_edge = 0;                 ///< edges to these points
    int64_t n_sent_channel = 0;         ///< numbers of a solver's point that the tree gets
    bool splits_messages = false;       ///< an edge's layer is split into products per point
    int64_t value_bytes = 4;
    /// sources on other ranks, per step
    int64_t exchange_items = 0, exchange_messages = 0, exchanges = 0;
    int64_t moves = 0;  ///< collectives per move
    std::vector<Level> levels;
};

/// Returns the lines of the plan's cost table. Local.
std::vector<LayerCost> costs_of(const Config& config, const Work& work);

/// Returns remarks for the plan's table: slots, levels, effect of reproducible mode.
std::vector<std::string> notes_of(const Config& config, int64_t n_point, int64_t n_slot,
                                  bool is_reproducible);

}  // namespace surrogate::impl::bsa::erwin
