// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/config.hpp"

#include <nlohmann/json.hpp>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/model/sphere/config_readers.hpp"

namespace surrogate::impl::sphere {

Config parse_config(const Card& card) {
    const nlohmann::json& network = *card.network;
    const Conventions conventions = parse_conventions(*card.conventions);
    const bool is_layer = network.is_object() && network.contains("layer");
    const char* key = is_layer ? "layer" : "model";
    if (!network.is_object() || !network.contains(key)) {
        throw Error(
            Status::not_supported,
            "card: network names neither a model nor a layer: the file holds data for tests, "
            "nothing to run");
    }
    if (!network[key].is_string())
        refuse(std::string("network.") + key + " is " + printable(dump_json(network[key]), 60) +
               ", expected a string");
    const std::string name = network[key].get<std::string>();
    if (is_layer) {
        if (name == "AttentionS2") return parse_attention(network, true, conventions);
        if (name == "NeighborhoodAttentionS2") return parse_attention(network, false, conventions);
        if (name == "DiscreteContinuousConvS2")
            return parse_convolution(network, false, conventions);
        if (name == "DiscreteContinuousConvTransposeS2")
            return parse_convolution(network, true, conventions);
        if (name == "ResampleS2") return parse_resample(network);
    } else {
        if (name == "SphericalTransformer") return parse_transformer(network, conventions);
        if (name == "SphericalSegformer") return parse_segformer(network, conventions);
    }
    const std::vector<std::string> layers = {"AttentionS2", "NeighborhoodAttentionS2",
                                             "DiscreteContinuousConvS2",
                                             "DiscreteContinuousConvTransposeS2", "ResampleS2"};
    const std::vector<std::string> models = {"SphericalTransformer", "SphericalSegformer"};
    refuse(std::string("network.") + key + " '" + printable(name, 60) +
           "' is not a class of the sphere" + did_you_mean(name, is_layer ? layers : models));
}

}  // namespace surrogate::impl::sphere
