// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/tree.hpp"

namespace surrogate::impl::sequoia {

/// What the table of a Sequoia plan depends on besides the model.
struct Work {
    const Tree& tree;
    int64_t n_solver = 0;  ///< points of the solver on this rank
    int64_t n_own = 0;     ///< leaves that this rank owns
    int64_t value_bytes = 4;
    int64_t input_bytes = 0;  ///< of a point on its way to its leaf
    int64_t readout_bytes = 0, readout_collectives = 0;
};

std::vector<LayerCost> costs_of(const Config& config, const Work& work);

}  // namespace surrogate::impl::sequoia
