// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/network.hpp"

#include <memory>

#include "libsurrogate/src/layers/double_layers.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/device_gradient_program.hpp"
#include "libsurrogate/src/model/flare/device_program.hpp"
#include "libsurrogate/src/model/flare/device_weights.hpp"
#include "libsurrogate/src/model/flare/gradient_program.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"
#include "libsurrogate/src/model/flare/program.hpp"
#include "libsurrogate/src/model/flare/sequence_program.hpp"

namespace surrogate::impl::flare {

namespace {

std::vector<Port> inputs_of(const PhysicsNemoConfig& config) {
    std::vector<Port> ports{{"embedding", config.embedding_dim}};
    if (config.functional_dim > 0) ports.push_back({"fx", config.functional_dim});
    if (config.time_input) ports.push_back({"time", 1});
    return ports;
}

class FlareNetwork final : public Network {
public:
    FlareNetwork(const Config& config, const std::shared_ptr<const MasterWeights>& master)
        : config_(config), layers_(config, master) {}

    std::vector<Port> inputs() const override {
        if (config_.is_physicsnemo()) return inputs_of(config_.physicsnemo);
        if (!config_.is_sequence()) return {{"x", config_.in_dim}};
        return {{"ids", 1, PortPlace::input_points, NumberKind::integer},
                {"mask", 1, PortPlace::input_points, NumberKind::integer, true}};
    }
    std::vector<Port> outputs() const override {
        if (!config_.is_sequence()) return {{"y", config_.out_dim, PortPlace::output_points}};
        const bool is_by_token = config_.sequence.pool == Pool::none;
        return {{"logits", config_.out_dim,
                 is_by_token ? PortPlace::output_points : PortPlace::clouds}};
    }
    /// Predictions on the host; weights count in one cloud.
    bool keeps_clouds(const PlanRequest& request) const override {
        return !config_.is_sequence() && !config_.point_weights && !request.gradients &&
               !request.device;
    }
    /// The official double run of a sequence keeps its tables of positions in single precision.
    double truth_accuracy() const override {
        const bool is_exact = config_.sequence.position == PositionCode::learned;
        return config_.is_sequence() && !is_exact ? 1e-6 : 1e-10;
    }

    std::vector<DropoutRate> dropout_rates() const override {
        const SequenceConfig& s = config_.sequence;
        std::vector<DropoutRate> rates;
        for (const DropoutRate& rate :
             {DropoutRate{"emb_drop", s.emb_drop}, DropoutRate{"attn_drop", s.attn_drop, false},
              DropoutRate{"proj_drop", s.proj_drop}, DropoutRate{"cls_drop", s.cls_drop},
              DropoutRate{"dropout", config_.physicsnemo.dropout}}) {
            if (rate.rate > 0) rates.push_back(rate);
        }
        return rates;
    }

    std::unique_ptr<Program> program(const PlanRequest& request) const override {
        const PointDomain& points = same_points(request, "FLARE");
        return layers_.with(request.is_double(), [&](const auto& layers) {
            return config_.is_sequence() ? make_sequence_program(config_, layers, points, request)
                                         : make_program(config_, layers, points, request);
        });
    }

    std::unique_ptr<GradientProgram> gradient_program(const PlanRequest& request) const override {
        const PointDomain& points = same_points(request, "FLARE");
        return layers_.with(request.is_double(), [&](const auto& layers) {
            return config_.is_sequence()
                       ? make_sequence_gradient_program(config_, layers, points, request)
                       : make_gradient_program(config_, layers, points, request);
        });
    }

    std::unique_ptr<DeviceProgram> device_program(const PlanRequest& request) const override {
        const PointDomain& points = same_points(request, "FLARE");
        return make_device_program(config_, weights_for(request), points, request);
    }

    std::unique_ptr<GradientProgram> device_gradient_program(
        const PlanRequest& request) const override {
        const PointDomain& points = same_points(request, "FLARE");
        return make_device_gradient_program(config_, layers_.single(), weights_for(request), points,
                                            request);
    }

private:
    std::shared_ptr<const DeviceWeights> weights_for(const PlanRequest& request) const {
        if (config_.variant != Variant::model) {
            throw Error(Status::not_supported,
                        std::string("FLARE variant '") + class_name(config_) +
                            (config_.is_physicsnemo() ? "' of PhysicsNeMo" : "'") +
                            " is not built for backend 'cuda'; use backend 'simd' or 'auto'");
        }
        if (config_.point_weights) {
            throw Error(Status::not_supported,
                        "FLARE with weights of points (network.point_weights of its card) is not "
                        "built for backend 'cuda'; use backend 'simd' or 'auto'");
        }
        return device_weights_.get(*request.device, request.precision, config_, layers_.single());
    }

    Config config_;
    DoubleLayers<Layers> layers_;
    mutable SharedByOperand<DeviceWeights> device_weights_;
};

}  // namespace

std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found) {
    require_no_conventions(card, "FLARE");
    const Config config = parse_config(*card.network);
    require_few_tensors(config.n_tensor(), n_found);
    return layout(config);
}

std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights) {
    return std::make_unique<FlareNetwork>(parse_config(*file.card.network), weights);
}

}  // namespace surrogate::impl::flare
