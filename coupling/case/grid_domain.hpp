// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <surrogate/surrogate.hpp>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// This rank's block of a grid on the sphere: first row, rows, first column, columns.
struct GridBlock {
    int64_t first_lat, n_lat, first_lon, n_lon;
};
GridBlock grid_block(const Job& job, const std::string& partition,
                     const surrogate_domain_info& grid);

/// Creates the domain of the block, rows from the north, longitudes from 0. Collective.
Domain grid_domain(const Job& job, const Context& context, const std::string& partition,
                   const surrogate_domain_info& grid);

/// Returns true if both grids have the same kind and size.
bool is_same_grid(const surrogate_domain_info& a, const surrogate_domain_info& b);

}  // namespace surrogate::tool
