// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/network.hpp"

#include "libsurrogate/src/model/family/point_network.hpp"
#include "libsurrogate/src/model/sequoia/device_program.hpp"
#include "libsurrogate/src/model/sequoia/device_tree.hpp"
#include "libsurrogate/src/model/sequoia/gradient_program.hpp"
#include "libsurrogate/src/model/sequoia/program.hpp"
#include "libsurrogate/src/model/sequoia/readout.hpp"

namespace surrogate::impl::sequoia {

namespace {

class SequoiaNetwork final : public PointNetwork<Config, Layers, DeviceWeights> {
public:
    using PointNetwork::PointNetwork;

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

    std::vector<DropoutRate> dropout_rates() const override {
        if (config_.dropout == 0) return {};
        return {{"dropout_prob", config_.dropout}};
    }
};

}  // namespace

std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found) {
    require_no_conventions(card, Config::family);
    const Config config = parse_config(*card.network);
    require_few_tensors(config.n_tensor(), n_found);
    return layout(config);
}

std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights) {
    return std::make_unique<SequoiaNetwork>(parse_config(*file.card.network), weights);
}

}  // namespace surrogate::impl::sequoia
