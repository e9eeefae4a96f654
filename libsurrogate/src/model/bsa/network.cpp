// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/network.hpp"

#include <memory>

#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/device_program.hpp"
#include "libsurrogate/src/model/bsa/gradient_program.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/bsa/program.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"

namespace surrogate::impl::bsa {

namespace {

class BsaNetwork final : public PointNetwork<Config, Layers, DeviceWeights> {
public:
    using PointNetwork::PointNetwork;

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
    return std::make_unique<BsaNetwork>(parse_config(*file.card.network), weights);
}

}  // namespace surrogate::impl::bsa
