// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "libsurrogate/src/model/sphere/bands.hpp"
#include "libsurrogate/src/model/sphere/frame.hpp"

namespace surrogate::impl::sphere {

/// Cost of every row of an output grid, in flops, for layers of which each column of a row costs
/// `work.point_flops` and each pair within theta_cutoff `work.pair_flops` (0: no pairs are
/// counted).
std::vector<double> row_costs(const Grid& out, const Grid& in, double theta_cutoff,
                              const RowWork& work);
void add_costs(std::vector<double>& sum, const std::vector<double>& cost, double times = 1);

/// Distribution of the rows of a grid that is also the solver's: the solver's own bands, or
/// balanced ones if the time that saves is longer than its fields take to travel, or if the solver
/// has blocks. Adds a note that says so. n_channel: of the fields that would travel.
Bands choose_bands(const Frame& frame, const SphereDomain& domain,
                   const std::vector<double>& row_cost, int64_t n_channel,
                   std::vector<std::string>& notes);

/// Balanced bands of a grid of the network's own, with a note.
Bands inner_bands(const Frame& frame, const Grid& grid, const SphereDomain& domain,
                  const std::vector<double>& row_cost, std::vector<std::string>& notes);

}  // namespace surrogate::impl::sphere
