// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/network.hpp"

#include <cmath>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"
#include "libsurrogate/src/model/hept/device_program.hpp"
#include "libsurrogate/src/model/hept/gradient_program.hpp"
#include "libsurrogate/src/model/hept/program.hpp"

namespace surrogate::impl::hept {

namespace {

class HeptNetwork final : public PointNetwork<Config, Layers, DeviceWeights> {
public:
    using PointNetwork::PointNetwork;

    std::vector<Port> inputs() const override {
        return {{"coords", config_.coords_dim, PortPlace::coordinates}, {"x", config_.in_dim}};
    }
    std::vector<Port> outputs() const override {
        return {{"y", config_.n_out(), PortPlace::output_points}};
    }
    DomainKind domain_kind() const override {
        DomainKind kind;
        kind.keeps_clouds = config_.padding != Padding::zero;
        return kind;
    }
    bool returns_probability() const override { return config_.is_pileup; }
    bool chooses_by_values() const override { return true; }

    std::vector<DropoutRate> dropout_rates() const override {
        if (config_.dropout == 0) return {};
        return {{"dropout", config_.dropout}};
    }
};

/// Validates the numbers of regions, which are divisors.
void require_regions(const MasterWeights& weights, const Config& config) {
    const MasterWeights::Entry& regions = *weights.find("regions");
    for (int64_t i = 0; i < regions.size; ++i) {
        const float value = weights.values()[static_cast<size_t>(regions.first + i)];
        if (std::isfinite(value) && value > 0) continue;
        const int64_t head = i % config.num_heads, axis = i / config.num_heads % 2,
                      table = i / config.num_heads / 2;
        throw Error(Status::bad_file,
                    "tensor 'regions' holds " + number_text(static_cast<double>(value)) +
                        " for table " + std::to_string(table) + ", axis " + std::to_string(axis) +
                        ", head " + std::to_string(head) +
                        ", expected the number of regions along the axis, positive and finite");
    }
}

}  // namespace

std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found) {
    require_no_conventions(card, Config::family);
    const Config config = parse_config(*card.network);
    require_few_tensors(config.n_tensor(), n_found);
    return layout(config);
}

std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights) {
    Config config = parse_config(*file.card.network);
    settle_padding(config, *weights);
    require_regions(*weights, config);
    return std::make_unique<HeptNetwork>(config, weights);
}

}  // namespace surrogate::impl::hept
