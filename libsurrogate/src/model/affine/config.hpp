// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/file/card.hpp"

namespace surrogate::impl::affine {

/// A linear map of each point: y = offset + matrix x, in the normalized numbers of the network.
struct Config {
    int64_t n_in = 0, n_out = 0;
    std::vector<double> matrix;  ///< (n_out, n_in)
    std::vector<double> offset;  ///< (n_out)
};

/// Reads `matrix` and `offset` of the card's network, which are in the units of the card's fields,
/// and converts them with means and deviations. Throws bad_file.
Config parse_config(const Card& card);

}  // namespace surrogate::impl::affine
