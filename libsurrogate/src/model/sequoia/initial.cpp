// SPDX-License-Identifier: Apache-2.0
// Source: spec of Sequoia, section 3.
#include "libsurrogate/src/model/sequoia/network.hpp"

namespace surrogate::impl::sequoia {

InitialValues initial_values(const Card&, const Layout& layout, size_t i, uint64_t) {
    using Kind = InitialValues::Kind;
    const TensorSpec& tensor = layout[i];
    if (tensor.name == "pos_enc.linear.weight") return {Kind::normal, 0, 1};
    if (tensor.name.ends_with("word_embeddings.weight") ||
        tensor.name.ends_with("position_embeddings.weight"))
        return {Kind::normal, 0, 0.02};
    if (tensor.name.find("norm") != std::string::npos) return norm_values(tensor);
    return linear_values(layout, i);
}

bool is_of_output(const Card&, const TensorSpec& tensor) {
    return tensor.name.starts_with("seq_classifer.mlpblock.2.");
}

}  // namespace surrogate::impl::sequoia
