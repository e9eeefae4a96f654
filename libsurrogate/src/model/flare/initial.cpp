// SPDX-License-Identifier: Apache-2.0
// Source: spec of FLARE, sections 5 and 8.3; Transolver.initialize_weights of PhysicsNeMo.
#include <cmath>

#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/network.hpp"

namespace surrogate::impl::flare {

namespace {

using Kind = InitialValues::Kind;

/// 10000^(-i / n) in the steps of PhysicsNeMo, in single precision.
InitialValues frequencies(int64_t n) {
    InitialValues values{Kind::table};
    for (int64_t i = 0; i < n; ++i)
        values.table.push_back(std::pow(1e-4f, static_cast<float>(i) / static_cast<float>(n)));
    return values;
}

}  // namespace

InitialValues initial_values(const Card& card, const Layout& layout, size_t i, uint64_t) {
    const TensorSpec& tensor = layout[i];
    if (tensor.name.ends_with("latent_q")) return {Kind::normal, 0, 0.1};
    if (tensor.name.ends_with("q_global")) return {Kind::normal, 0, 1};
    if (tensor.is_fixed) return frequencies(tensor.shape[0]);
    // Truncations of the class token and of PhysicsNeMo's weights, at 100 deviations, have no
    // effect.
    if (tensor.shape.size() == 2 || tensor.name == "cls_token") return {Kind::normal, 0, 0.02};
    if (tensor.name == "pos_emb.pos_scale") {
        const auto width = static_cast<double>(parse_config(*card.network).channel_dim);
        return {Kind::constant, 1 / std::sqrt(width), 0};
    }
    return norm_values(tensor);
}

bool is_of_output(const Card& card, const TensorSpec& tensor) {
    const Config config = parse_config(*card.network);
    const TensorNames names = names_of(config);
    if (config.is_sequence() && config.out_proj.n_inner >= 0)
        return tensor.name.starts_with(std::string(names.out_proj_layers[1]) + ".");
    if (config.is_sequence()) return tensor.name.starts_with(std::string(names.out_proj) + ".");
    const std::string last =
        layer_name(names.out_proj, config.out_proj, config.out_proj.n_layer() - 1);
    return tensor.name.starts_with(last + ".");
}

}  // namespace surrogate::impl::flare
