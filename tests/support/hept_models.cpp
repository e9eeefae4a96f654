// SPDX-License-Identifier: Apache-2.0
#include "tests/support/hept_models.hpp"

#include <cmath>
#include <functional>
#include <numeric>

#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/model/families.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {

using nlohmann::json;

json small_hept(const json& changes) {
    const json network = {{"in_dim", 2},        {"coords_dim", 2},     {"h_dim", 4},
                          {"num_heads", 2},     {"n_layers", 2},       {"n_hashes", 3},
                          {"block_size", 8},    {"num_w_per_dist", 2}, {"num_classes", 1},
                          {"padding", "masked"}};
    return changed(network, changes);
}

ModelWriter hept_model(const json& card) {
    ModelWriter writer;
    writer.card = card;
    double t = 0;
    for (const impl::TensorSpec& spec :
         impl::required_tensors(impl::parse_card(card.dump()), 1 << 20)) {
        if (spec.is_optional) continue;
        const int64_t size = std::accumulate(spec.shape.begin(), spec.shape.end(), int64_t{1},
                                             std::multiplies<int64_t>());
        const bool is_norm_weight =
            spec.name.find("norm") != std::string::npos && spec.name.ends_with("weight");
        const bool is_table = spec.name == "regions" || spec.name.ends_with("alpha");
        const double width = static_cast<double>(size / spec.shape[0]);
        const double amplitude = is_table                        ? 1
                                 : is_norm_weight                ? 0.2
                                 : spec.name.ends_with("weight") ? 1 / std::sqrt(width)
                                                                 : 0.1;
        const double offset = spec.name == "regions" ? 3 : is_norm_weight ? 1 : 0;
        writer.tensors.push_back(
            float_tensor(spec.name, spec.shape, wave(size, t++, amplitude, offset)));
    }
    return writer;
}

ModelWriter hept_network(const json& network) {
    return hept_model({{"format", 1}, {"family", "hept"}, {"network", network}});
}

}  // namespace surrogate::test
