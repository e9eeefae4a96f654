// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/network.hpp"

#include "libsurrogate/src/layers/double_layers.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"
#include "libsurrogate/src/model/sequoia/device_program.hpp"
#include "libsurrogate/src/model/sequoia/device_tree.hpp"
#include "libsurrogate/src/model/sequoia/gradient_program.hpp"
#include "libsurrogate/src/model/sequoia/program.hpp"
#include "libsurrogate/src/model/sequoia/readout.hpp"

namespace surrogate::impl::sequoia {

namespace {

class SequoiaNetwork final : public Network {
public:
    SequoiaNetwork(const Config& config, const std::shared_ptr<const MasterWeights>& master)
        : config_(config), layers_(config, master) {}

    std::vector<Port> inputs() const override {
        if (config_.features == Features::tokens)
            return {{"tokens", 1, PortPlace::input_points, NumberKind::integer}};
        std::vector<Port> ports;
        if (config_.takes_positions())
            ports.push_back({"positions", config_.dimensionality, PortPlace::coordinates});
        if (config_.features == Features::none) ports.push_back({"features", config_.c_in});
        return ports;
    }

    std::vector<Port> outputs() const override {
        const Place place = place_of(config_);
        return {{"y", config_.num_classes,
                 place == Place::leaves  ? PortPlace::output_points
                 : place == Place::nodes ? PortPlace::nodes
                                         : PortPlace::clouds}};
    }

    std::unique_ptr<Program> program(const PlanRequest& request) const override {
        const PointDomain& points = same_points(request, "Sequoia");
        return layers_.with(request.is_double(), [&](const auto& layers) {
            return make_program(config_, layers, points, request);
        });
    }

    std::unique_ptr<GradientProgram> gradient_program(const PlanRequest& request) const override {
        const PointDomain& points = same_points(request, "Sequoia");
        return layers_.with(request.is_double(), [&](const auto& layers) {
            return make_gradient_program(config_, layers, points, request);
        });
    }

    std::vector<DropoutRate> dropout_rates() const override {
        if (config_.dropout == 0) return {};
        return {{"dropout_prob", config_.dropout}};
    }

    std::unique_ptr<DeviceProgram> device_program(const PlanRequest& request) const override {
        const PointDomain& points = same_points(request, "Sequoia");
        require_device_sizes(config_);
        return make_device_program(
            config_,
            device_weights_.get(*request.device, request.precision, config_, layers_.single()),
            points, request);
    }

private:
    Config config_;
    DoubleLayers<Layers> layers_;
    mutable SharedByOperand<DeviceWeights> device_weights_;
};

}  // namespace

std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found) {
    require_no_conventions(card, "Sequoia");
    const Config config = parse_config(*card.network);
    require_few_tensors(config.n_tensor(), n_found);
    return layout(config);
}

std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights) {
    return std::make_unique<SequoiaNetwork>(parse_config(*file.card.network), weights);
}

}  // namespace surrogate::impl::sequoia
