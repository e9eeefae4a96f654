// SPDX-License-Identifier: Apache-2.0
// Source: spec of the sphere's models, section 5.
#include <cmath>

#include "libsurrogate/src/model/sphere/network.hpp"

namespace surrogate::impl::sphere {

namespace {

using Kind = InitialValues::Kind;

/// Distribution for a linear layer at each point, (n_out, n_in, 1, 1).
InitialValues of_points(const std::string& name, double n_out, double n_in) {
    if (name.ends_with("proj_weights")) return {Kind::uniform, 0, std::sqrt(3 / n_in)};
    if (name.ends_with("_weights")) return {Kind::uniform, 0, std::sqrt(6 / (n_in + n_out))};
    if (name.find("mlp.fwd.0.") != std::string::npos) return {Kind::normal, 0, std::sqrt(2 / n_in)};
    if (name.find("mlp.fwd.") != std::string::npos) return {Kind::normal, 0, std::sqrt(0.5 / n_in)};
    return {Kind::normal, 0, 0.02};  // SegFormer's; cut at 100 deviations, which never happens
}

}  // namespace

InitialValues initial_values(const Card&, const Layout& layout, size_t i, uint64_t) {
    const TensorSpec& tensor = layout[i];
    const std::string& name = tensor.name;
    const auto extent = [&](size_t axis) { return static_cast<double>(tensor.shape[axis]); };
    if (name.find("position_embeddings") != std::string::npos) return {};
    if (tensor.shape.size() == 4) return of_points(name, extent(0), extent(1));
    if (tensor.shape.size() == 3) return {Kind::normal, 0, 1 / std::sqrt(extent(1) * extent(2))};
    return norm_values(tensor);
}

bool is_of_output(const Card&, const TensorSpec& tensor) {
    return tensor.name.starts_with("decoder.conv.") ||
           tensor.name.starts_with("segmentation_head.");
}

}  // namespace surrogate::impl::sphere
