// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/family/network.hpp"

namespace surrogate::impl::bsa {

/// Quantities of the plan's table besides the model. They count this rank, unless it says
/// otherwise.
struct Work {
    struct Traffic {
        int64_t bytes = 0, collectives = 0;
    };
    int64_t n_point = 0, n_solver = 0;  ///< computed here; of the solver
    int64_t n_slot = 0;
    int64_t n_slot_global = 0;  ///< of all ranks
    int64_t ball = 1;           ///< slots of a ball
    int64_t n_choice = 0;       ///< blocks of a group
    int64_t n_given = 0;        ///< features of the caller
    int64_t value_bytes = 4;
    int64_t turn_bytes = 0, turns = 0;  ///< x to the rotated ordering and back
    int64_t coarse_bytes = 0;
    std::vector<Traffic> fetches;  ///< of each layer: the last run, or the most there can be
    Traffic ring;                  ///< of full attention
};

std::vector<LayerCost> costs_of(const Config& config, const Work& work);

/// Keeps the lines of arithmetic only: on one rank a device sends nothing and reads the solver's
/// points in place.
void keep_work_of_one_rank(std::vector<LayerCost>& list);

/// Lines of the plan's table: how points are ordered, what grows with the square of their number
/// and how to avoid it, what the reproducible mode does.
std::vector<std::string> notes_of(const Config& config, int64_t n_point, int64_t n_slot, int n_rank,
                                  bool is_reproducible);

}  // namespace surrogate::impl::bsa
