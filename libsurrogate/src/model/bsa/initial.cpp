// SPDX-License-Identifier: Apache-2.0
// Source: spec of Ball Sparse Attention, section 7; Erwin's initializer for the U-net.
#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/network.hpp"

namespace surrogate::impl::bsa {

namespace {

/// Returns the distribution of a tensor of Erwin's transformer: linear weights normal of deviation
/// 0.02, biases 0, norms 1 and 0. The official truncation, at 100 deviations, has no effect.
InitialValues transformer_values(const TensorSpec& tensor) {
    using Kind = InitialValues::Kind;
    if (tensor.name.ends_with("sigma_att")) return {Kind::normal, -1, 0.01};
    if (tensor.name.ends_with("gates")) return {};
    if (tensor.shape.size() == 2) return {Kind::normal, 0, 0.02};
    return norm_values(tensor);
}

}  // namespace

InitialValues initial_values(const Card&, const Layout& layout, size_t i, uint64_t) {
    using Kind = InitialValues::Kind;
    const TensorSpec& tensor = layout[i];
    if (tensor.name.starts_with("main_model.") || tensor.name == "sigma_att")
        return transformer_values(tensor);
    if (tensor.name == "pos_enc.linear.weight") return {Kind::normal, 0, 1};
    return linear_values(layout, i);
}

bool is_of_output(const Card&, const TensorSpec& tensor) {
    return tensor.name.starts_with("pred_head.2.");
}

namespace erwin {

InitialValues initial_values(const Card&, const Layout& layout, size_t i, uint64_t) {
    using Kind = InitialValues::Kind;
    const TensorSpec& tensor = layout[i];
    if (tensor.name.ends_with(".running_var")) return {Kind::constant, 1, 0};
    if (tensor.name == "pos_enc.linear.weight") return {Kind::normal, 0, 1};
    if (tensor.name.starts_with("pos_enc.") || tensor.name.starts_with("pred_head."))
        return linear_values(layout, i);
    return transformer_values(tensor);
}

bool is_of_output(const Card&, const TensorSpec& tensor) {
    return tensor.name.starts_with("pred_head.2.");  // without a head the last layer is a block
}

}  // namespace erwin

}  // namespace surrogate::impl::bsa
