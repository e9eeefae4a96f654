// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libsurrogate/src/layers/dropout.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/model/family/program.hpp"

namespace surrogate::impl {

/// Program with a backward pass, used by plans with option gradients=true and by trainers.
/// Predictions are bitwise identical to the family's Program.
///
/// evaluate() stores the data that backward() needs; one backward() is allowed per evaluate(). Does
/// not allocate after connect().
class GradientProgram : public Program {
public:
    /// Sets the training sample whose masks of dropout the next evaluate() and its backward()
    /// apply; none, as at first: they apply none. By default the network has no dropout. Local.
    virtual void set_dropout(std::optional<DropoutDraw>) {}

    /// Computes the gradients of a number L with respect to weights, and to inputs if requested,
    /// from the gradients with respect to the outputs of the last evaluate(). Collective.
    ///   doutputs  in the order of the output ports, channel by channel, over the solver's points:
    ///             dL / d(output of the network); mean 0, std 1
    ///   dinputs   empty, or as the columns of gather() without the columns of a port of
    ///             coordinates (also with these if differentiates_coordinates()): dL / d(input of
    ///             the network) is written to columns with data
    ///   sums      this rank's gradients of weights are added (GradientSums::open, close); they are
    ///             summed over ranks in GradientSums::reduce
    /// alive: this rank's doutputs and its last evaluation are valid. If `alive` is false, or the
    /// last evaluation has been backpropagated already, the rank computes nothing, takes part in
    /// all exchanges, sends NaN and marks its sums as failed. Returns true if the sums of all ranks
    /// are finite, as far as this rank was informed.
    virtual bool backward(std::span<const Column> doutputs, std::span<const Column> dinputs,
                          bool alive, GradientSums& sums) = 0;

    /// Returns true if dinputs may begin with the columns of the port of coordinates. Local.
    virtual bool differentiates_coordinates() const { return false; }

    /// Returns true if a channel of the network's inputs, without coordinates, is a class. Local.
    virtual bool is_class(int64_t) const { return false; }

    /// Returns true if backward() takes sums with GradientOrder::none. Local.
    virtual bool leaves_out_weights() const { return false; }

    /// Returns the stages in which backward() completes gradients: for each of the master's entries
    /// the last stage, 0, 1, .., that adds to it; the same on all ranks. backward() calls
    /// GradientSums::finish_stage() behind each, on all ranks in the same order among their other
    /// calls; it may end before the last. Empty: all are complete at the end. Local, when planning.
    virtual std::vector<int> weight_stages() const { return {}; }
};

}  // namespace surrogate::impl
