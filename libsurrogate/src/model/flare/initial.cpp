// SPDX-License-Identifier: Apache-2.0
// Source: spec of FLARE, section 5.
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/network.hpp"

namespace surrogate::impl::flare {

InitialValues initial_values(const Card& card, const TensorSpec& tensor) {
    using Kind = InitialValues::Kind;
    if (parse_config(*card.network).is_sequence()) {
        throw Error(
            Status::not_supported,
            "the library cannot draw weights of FLARE's ModelWrapper; start from a model file");
    }
    if (tensor.name.ends_with("latent_q")) return {Kind::normal, 0, 0.1};
    if (tensor.shape.size() == 2) return {Kind::normal, 0, 0.02};
    return {Kind::constant, tensor.name.ends_with(".weight") ? 1.0 : 0.0, 0};  // of norms; biases
}

bool is_of_output(const Card& card, const TensorSpec& tensor) {
    const Config config = parse_config(*card.network);
    const std::string last = layer_name(names_of(config.variant).out_proj, config.out_proj,
                                        config.out_proj.n_layer() - 1);
    return tensor.name.starts_with(last + ".");
}

}  // namespace surrogate::impl::flare
