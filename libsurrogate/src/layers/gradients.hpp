// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "kernels/linear/linear.hpp"
#include "kernels/norm/norm.hpp"
#include "libsurrogate/src/layers/weights.hpp"

namespace surrogate::impl {

/// Where gradients of a master's weights are added up, by name. A view: master and arena belong to
/// the caller.
class Gradients {
public:
    /// arena: MasterWeights::gradients(), or memory of the same shape.
    Gradients(const MasterWeights& master, std::span<double> arena)
        : master_(master), arena_(arena) {}

    double* at(const std::string& name) const {
        if (const MasterWeights::Entry* entry = master_.find(name))
            return arena_.data() + entry->first;
        throw Error(Status::internal, "the master has no weight '" + name + "'");
    }
    kernels::LinearGradient linear(const std::string& name) const {
        return {at(name + ".weight"), at(name + ".bias")};
    }
    kernels::NormGradient layer_norm(const std::string& name) const {
        return {at(name + ".weight"), at(name + ".bias")};
    }

private:
    const MasterWeights& master_;
    std::span<double> arena_;
};

}  // namespace surrogate::impl
