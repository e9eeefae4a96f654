// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/family/network.hpp"

namespace surrogate::impl {

std::unique_ptr<GradientProgram> Network::gradient_program(const PlanRequest&) const {
    throw Error(Status::not_supported,
                "this network cannot be trained: its gradients are not built (option 'gradients')");
}

std::unique_ptr<DeviceProgram> Network::device_program(const PlanRequest&) const {
    throw Error(Status::not_supported,
                "models of this family are not built for backend 'cuda'; use backend 'simd' or "
                "'auto'");
}

std::unique_ptr<GradientProgram> Network::device_gradient_program(const PlanRequest&) const {
    throw Error(Status::not_supported,
                "models of this family are trained on the host only (option 'gradients'); use "
                "backend 'simd' or 'auto'");
}

}  // namespace surrogate::impl
