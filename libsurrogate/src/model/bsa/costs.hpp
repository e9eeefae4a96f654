// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/family/network.hpp"

namespace surrogate::impl::bsa {

/// Input of the plan's cost table besides the model. Numbers are for this rank unless noted.
struct Work {
    struct Traffic {
        int64_t bytes = 0, collectives = 0;
    };
    int64_t n_point = 0, n_solver = 0;  ///< computed on this rank; points of the solver
    int64_t n_slot = 0;
    int64_t n_slot_global = 0;  ///< over all ranks
    int64_t ball = 1;           ///< slots of a ball
    int64_t n_choice = 0;       ///< chosen blocks per group
    int64_t n_given = 0;        ///< features given by the caller
    int64_t value_bytes = 4;
    int64_t turn_bytes = 0, turns = 0;  ///< x to the rotated order and back
    int64_t coarse_bytes = 0;
    std::vector<Traffic> fetches;  ///< per layer: last run, or before it the maximum
    Traffic ring;                  ///< full attention only
};

/// Returns the lines of the plan's cost table. Local.
std::vector<LayerCost> costs_of(const Config& config, const Work& work);

/// Removes all lines without arithmetic: on one rank a device sends nothing and reads the solver's
/// points in place.
void keep_work_of_one_rank(std::vector<LayerCost>& list);

/// Returns remarks for the plan's table: the order of the points, the part that grows with the
/// square of their number and its alternative, the effect of reproducible mode.
std::vector<std::string> notes_of(const Config& config, int64_t n_point, int64_t n_slot, int n_rank,
                                  bool is_reproducible);

}  // namespace surrogate::impl::bsa
