// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/model/family/program.hpp"

namespace surrogate::impl {

/// A program that can also go back: what a plan with option gradients=true runs, and who trains
/// needs. Predictions have the bits of the family's Program.
///
/// evaluate() keeps what backward() needs, which then belongs to that evaluation: one backward for
/// each. Nothing after connect() takes memory.
class GradientProgram : public Program {
public:
    /// Collective: gradients of a number L with respect to weights, and to inputs if they are
    /// wanted, from those with respect to what the last evaluate() computed.
    ///   doutputs  in the order of the output ports, channel by channel, over the solver's points:
    ///             dL / d(output of the network); mean 0, std 1
    ///   dinputs   empty, or as the columns of gather() without those of a port of coordinates:
    ///             dL / d(input of the network) is written to columns with data
    ///   sums      this rank's gradients of weights are added (GradientSums::open, close); they
    ///             meet other ranks' in GradientSums::reduce
    /// alive: this rank's doutputs are good, and the last evaluation was. A rank that is not, or
    /// whose last evaluation has gone back already, computes nothing, takes part in all exchanges,
    /// sends NaN and poisons its sums. Returns whether the sums of all ranks were finite, as far as
    /// this rank learned.
    virtual bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs,
                          bool alive, GradientSums& sums) = 0;

    /// Stages in which backward() completes gradients: of each of the master's entries the last
    /// stage, 0, 1, .., that adds to it; the same on all ranks. backward() says
    /// GradientSums::finish_stage() behind each, on all ranks at the same place among their other
    /// calls; it may end before the last. Empty: all are complete at the end. Local, when planning.
    virtual std::vector<int> weight_stages() const { return {}; }
};

}  // namespace surrogate::impl
