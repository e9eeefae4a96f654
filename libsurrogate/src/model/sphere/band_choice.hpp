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

/// Chooses the distribution of the rows of a grid that the solver uses too: the solver's bands, or
/// balanced bands if they save more time than the redistribution of the fields costs, or if the
/// solver has blocks. Adds a note about the choice. n_channel: channels of the fields that would be
/// redistributed. pair_cost (n_lat): the part of row_cost that may be divided between ranks; empty:
/// nothing is divided.
Bands choose_bands(const Frame& frame, const SphereDomain& domain,
                   const std::vector<double>& row_cost, int64_t n_channel,
                   std::vector<std::string>& notes, const std::vector<double>& pair_cost = {});

/// Balanced bands of a grid of the network's own, with a note. pair_cost: as above.
Bands inner_bands(const Frame& frame, const Grid& grid, const SphereDomain& domain,
                  const std::vector<double>& row_cost, std::vector<std::string>& notes,
                  const std::vector<double>& pair_cost = {});

}  // namespace surrogate::impl::sphere
