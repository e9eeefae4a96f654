// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/device_erwin_program.hpp"
#include "libsurrogate/src/model/bsa/erwin_program.hpp"
#include "libsurrogate/src/model/bsa/network.hpp"
#include "libsurrogate/src/model/family/device_limits.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"

namespace surrogate::impl::bsa::erwin {

namespace {

class ErwinNetwork final : public PointNetwork<Config, Layers, DeviceWeights> {
public:
    using PointNetwork::PointNetwork;

    std::vector<Port> inputs() const override {
        std::vector<Port> ports{{"positions", config_.n_axis, PortPlace::coordinates}};
        if (config_.n_given() > 0) ports.push_back({"features", config_.n_given()});
        return ports;
    }
    std::vector<Port> outputs() const override {
        return {{"y", config_.n_out(), PortPlace::output_points}};
    }

    std::unique_ptr<DeviceProgram> device_program(const PlanRequest& request) const override {
        require_one_rank_on_device(Config::family, points_of(request).context().comm().size());
        return PointNetwork::device_program(request);
    }
};

}  // namespace

std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found) {
    require_no_conventions(card, Config::family);
    const Config config = parse_config(*card.network);
    // Every block has 14 tensors, every step of message passing 8.
    if (14 * config.n_depth() + 8 * config.n_step > 2 * n_found + 100) {
        throw Error(Status::bad_file, "card: the network has " + std::to_string(config.n_depth()) +
                                          " blocks and " + std::to_string(config.n_step) +
                                          " steps, the file holds " + std::to_string(n_found) +
                                          " tensors");
    }
    return layout(config);
}

std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights) {
    return std::make_unique<ErwinNetwork>(parse_config(*file.card.network), weights);
}

}  // namespace surrogate::impl::bsa::erwin
