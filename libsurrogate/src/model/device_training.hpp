// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/gradient_program.hpp"

namespace surrogate::impl {

/// A Network whose gradients can be computed on a device: families that cannot are refused.
class DeviceTraining {
public:
    virtual ~DeviceTraining() = default;

    /// Forward and backward on the request's device, for numbers of the host: as
    /// Network::gradient_program(). What fails on the device of one rank is thrown by evaluate()
    /// once all exchanges of it are over; a failure on the way back poisons the sums, and the next
    /// evaluation throws it.
    virtual std::unique_ptr<GradientProgram> device_gradient_program(
        const PlanRequest& request) const = 0;
};

}  // namespace surrogate::impl
