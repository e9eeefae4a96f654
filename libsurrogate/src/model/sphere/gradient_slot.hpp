// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/linear/linear.hpp"
#include "kernels/norm/norm.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/layers/weights.hpp"

namespace surrogate::impl::sphere {

/// A tensor of which a layer adds up the gradient, chunk by chunk. Chunks are rows of a grid: a
/// thread opens the tensor, adds the tiles of the row from west to east, and closes it.
class GradientSlot {
public:
    /// Makes an empty slot, for a layer without bias.
    GradientSlot() = default;
    GradientSlot(const MasterWeights& master, const std::string& name) {
        const MasterWeights::Entry* entry = master.find(name);
        if (!entry) throw Error(Status::internal, "the master has no weight '" + name + "'");
        first_ = entry->first;
        end_ = entry->first + entry->size;
    }
    /// Returns null if there is no tensor, or if gradients of weights are not wanted.
    double* open(GradientSums& sums, int thread) const {
        return exists() && sums.is_wanted() ? sums.open(thread).data() + first_ : nullptr;
    }
    void close(GradientSums& sums, int thread) const {
        if (exists()) sums.close(thread, first_, end_);
    }
    bool exists() const { return end_ > first_; }

private:
    int64_t first_ = 0, end_ = 0;
};

/// Weight and bias of an affine layer or a norm.
struct GradientPair {
    GradientSlot weight, bias;

    GradientPair() = default;
    GradientPair(const MasterWeights& master, const std::string& weight_name,
                 const std::string& bias_name)
        : weight(master, weight_name) {
        if (!bias_name.empty()) bias = GradientSlot(master, bias_name);
    }
    kernels::LinearGradient linear(GradientSums& sums, int thread) const {
        return {weight.open(sums, thread), bias.open(sums, thread)};
    }
    kernels::NormGradient norm(GradientSums& sums, int thread) const {
        return {weight.open(sums, thread), bias.open(sums, thread)};
    }
    void close(GradientSums& sums, int thread) const {
        weight.close(sums, thread);
        bias.close(sums, thread);
    }
};

}  // namespace surrogate::impl::sphere
