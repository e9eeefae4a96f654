// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/tree.hpp"

namespace surrogate::impl::sequoia {

/// Input of the plan's cost table besides the model.
struct Work {
    const Tree& tree;
    int64_t n_solver = 0;  ///< solver points on this rank
    int64_t n_own = 0;     ///< leaves that this rank owns
    int64_t value_bytes = 4;
    int64_t input_bytes = 0;  ///< per point, from the solver's rank to the rank of its leaf
    int64_t readout_bytes = 0, readout_collectives = 0;
    /// On a device errors are sent with the rows of the shared level, all ranks send the same
    /// number of bytes, and a single rank sends nothing.
    bool is_on_device = false;
    int n_rank = 1;

    bool sends() const { return !is_on_device || n_rank > 1; }
    /// Returns the bytes that this rank sends when `n` gathers of the shared level carry n_channel
    /// channels.
    int64_t gather_bytes(int64_t n, int64_t n_channel) const {
        if (!is_on_device) return n * tree.owned(tree.cut()).size() * n_channel * value_bytes;
        return gathers(n) * (tree.most_owned() * n_channel + 1) * value_bytes;
    }
    int64_t gathers(int64_t n) const { return sends() ? n : 0; }
};

/// Returns the lines of the plan's cost table. Local.
std::vector<LayerCost> costs_of(const Config& config, const Work& work);

}  // namespace surrogate::impl::sequoia
