// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/network.hpp"

#include <memory>

#include "libsurrogate/src/layers/double_layers.hpp"
#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/device_program.hpp"
#include "libsurrogate/src/model/bsa/gradient_program.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/bsa/program.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"

namespace surrogate::impl::bsa {

namespace {

class BsaNetwork final : public Network {
public:
    BsaNetwork(const Config& config, const std::shared_ptr<const MasterWeights>& master)
        : config_(config), layers_(config, master) {}

    std::vector<Port> inputs() const override {
        std::vector<Port> ports{{"positions", config_.n_axis, PortPlace::coordinates}};
        if (config_.features == Features::given)
            ports.push_back({config_.is_single_layer ? "x" : "features", config_.n_feature});
        return ports;
    }
    std::vector<Port> outputs() const override {
        return {{"y", config_.n_output, PortPlace::output_points}};
    }
    bool chooses_by_values() const override { return config_.is_sparse(); }

    std::unique_ptr<Program> program(const PlanRequest& request) const override {
        const PointDomain& points = same_points(request, "Ball Sparse Attention");
        return layers_.with(request.is_double(), [&](const auto& layers) {
            return make_program(config_, layers, points, request);
        });
    }

    std::unique_ptr<GradientProgram> gradient_program(const PlanRequest& request) const override {
        const PointDomain& points = same_points(request, "Ball Sparse Attention");
        return layers_.with(request.is_double(), [&](const auto& layers) {
            return make_gradient_program(config_, layers, points, request);
        });
    }

    std::unique_ptr<DeviceProgram> device_program(const PlanRequest& request) const override {
        const PointDomain& points = same_points(request, "Ball Sparse Attention");
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
    require_no_conventions(card, "Ball Sparse Attention");
    const Config config = parse_config(*card.network);
    require_few_tensors(config.n_tensor(), n_found);
    return layout(config);
}

std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights) {
    return std::make_unique<BsaNetwork>(parse_config(*file.card.network), weights);
}

}  // namespace surrogate::impl::bsa
