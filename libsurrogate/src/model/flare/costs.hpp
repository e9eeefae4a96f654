// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/flare/config.hpp"

namespace surrogate::impl::flare {

/// Quantities of a FLARE plan's table besides the model.
struct Work {
    int64_t n_point = 0;   ///< computed by this rank
    int64_t n_solver = 0;  ///< of the solver on this rank
    bool is_reordered = false;
    int64_t input_bytes = 0, output_bytes = 0;    ///< of a point, if it is reordered
    int64_t reduction_bytes = 0, reductions = 0;  ///< of one block
    double latent_flops = 0, latent_exponentials = 0;
};

std::vector<LayerCost> costs_of(const Config& config, const Work& work);

}  // namespace surrogate::impl::flare
