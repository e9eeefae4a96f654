// SPDX-License-Identifier: Apache-2.0
#include "tests/support/bsa_models.hpp"

#include <cmath>
#include <functional>
#include <numeric>

#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/model/families.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {

using nlohmann::json;

json small_bsa(const json& changes, const json& attention) {
    const json kwargs = {
        {"compress_block_size", 4}, {"group_selection_size", 4}, {"selected_blocks_number", 2}};
    const json network = {
        {"c_in", 16},      {"c_hidden", 16},  {"c_out", 1},
        {"depth", 4},      {"num_heads", 2},  {"mlp_ratio", 2},
        {"ball_size", 16}, {"block_size", 3}, {"attention_kwargs", changed(kwargs, attention)}};
    return changed(network, changes);
}

ModelWriter bsa_model(const json& card) {
    ModelWriter writer;
    writer.card = card;
    double t = 0;
    for (const impl::TensorSpec& spec :
         impl::required_tensors(impl::parse_card(card.dump()), 1 << 20)) {
        if (spec.is_optional) continue;
        const int64_t size = std::accumulate(spec.shape.begin(), spec.shape.end(), int64_t{1},
                                             std::multiplies<int64_t>());
        const bool is_norm = spec.name.find("norm") != std::string::npos;
        const bool is_sigma = spec.name.ends_with("sigma_att");
        const bool is_small =
            is_norm || is_sigma || spec.name.ends_with("bias") || spec.name.ends_with("gates");
        const double width = static_cast<double>(size / spec.shape[0]);
        const double offset = is_norm ? 1 : is_sigma ? -1 : 0;
        writer.tensors.push_back(float_tensor(
            spec.name, spec.shape, wave(size, t++, is_small ? 0.1 : 1 / std::sqrt(width), offset)));
    }
    return writer;
}

ModelWriter bsa_network(const json& network) {
    return bsa_model({{"format", 1}, {"family", "bsa"}, {"network", network}});
}

}  // namespace surrogate::test
