// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "libsurrogate/src/layers/device_image.hpp"
#include "libsurrogate/src/layers/double_layers.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/network.hpp"

/// Checks of families on scattered points with common messages, and the network that most of them
/// share. `family`: name in a message for one.
namespace surrogate::impl {

/// Returns the points of a request. Throws not_supported unless both domains are one domain of
/// points.
const PointDomain& same_points(const PlanRequest& request, const char* family);

/// Throws bad_file if the card chooses between conventions.
void require_no_conventions(const Card& card, const char* family);

/// Throws bad_file if a network has far more tensors than the file: call it before the list of them
/// takes memory.
void require_few_tensors(int64_t n_tensor, int64_t n_found);

/// Throws invalid_argument if gather() found, as `bad`, a value of `input` that is none of `n_word`
/// words: call it once all exchanges of a run are over.
void require_words(const BadValue& bad, const char* input, int64_t n_word,
                   const PointDomain& domain);

/// Network of a family on scattered points. Derived classes list its ports and properties. Programs
/// are created by make_program(), make_gradient_program(), require_device_sizes() and
/// make_device_program() of the namespace of Config; Config::family is the name in messages.
template <class Config, template <class> class Layers, class DeviceWeights>
class PointNetwork : public Network {
public:
    PointNetwork(const Config& config, const std::shared_ptr<const MasterWeights>& master)
        : config_(config), layers_(config, master) {}

    std::unique_ptr<Program> program(const PlanRequest& request) const final {
        const PointDomain& points = points_of(request);
        return layers_.with(request.is_double(), [&](const auto& layers) {
            return make_program(config_, layers, points, request);
        });
    }

    std::unique_ptr<GradientProgram> gradient_program(const PlanRequest& request) const final {
        const PointDomain& points = points_of(request);
        return layers_.with(request.is_double(), [&](const auto& layers) {
            return make_gradient_program(config_, layers, points, request);
        });
    }

    std::unique_ptr<DeviceProgram> device_program(const PlanRequest& request) const override {
        const PointDomain& points = points_of(request);
        require_device_sizes(config_);
        return make_device_program(
            config_,
            device_weights_.get(*request.device, request.precision, config_, layers_.single()),
            points, request);
    }

protected:
    static const PointDomain& points_of(const PlanRequest& request) {
        return same_points(request, Config::family);
    }

    const Config config_;

private:
    DoubleLayers<Layers> layers_;
    mutable SharedByOperand<DeviceWeights> device_weights_;
};

}  // namespace surrogate::impl
