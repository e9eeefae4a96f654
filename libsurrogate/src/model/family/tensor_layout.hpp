// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

/// Modules of PyTorch in the list of tensors that a network needs.
namespace surrogate::impl {

/// A tensor that an architecture needs.
struct TensorSpec {
    std::string name;
    std::vector<int64_t> shape;
    bool is_optional = false;  ///< may be absent: the network computes it
    /// Another name that it may have in a file without this one.
    std::string other_name = {};
    bool is_fixed = false;  ///< a constant of the network: training leaves it as it is
};

using Layout = std::vector<TensorSpec>;

/// Initial distribution of a tensor in an untrained network: mean + width * r, where r is 0, a
/// standard normal number, or uniform between -1 and 1.
struct InitialValues {
    enum class Kind { constant, normal, uniform, table } kind = Kind::constant;
    double mean = 0, width = 0;
    std::vector<float> table = {};  ///< kind table: the values themselves, in C order
};

/// Returns the distribution of torch.nn.Linear for a weight (n_out, n_in), or for the bias that
/// follows its weight in the layout: uniform between -1 / sqrt(n_in) and 1 / sqrt(n_in). `i` is the
/// index of the tensor.
inline InitialValues linear_values(const Layout& layout, size_t i) {
    const TensorSpec& weight = layout[i].shape.size() == 2 ? layout[i] : layout[i - 1];
    return {InitialValues::Kind::uniform, 0, 1 / std::sqrt(static_cast<double>(weight.shape[1]))};
}

/// Returns the constant of a norm's weight (1) or bias (0), or of another bias (0).
inline InitialValues norm_values(const TensorSpec& tensor) {
    return {InitialValues::Kind::constant, tensor.name.ends_with(".weight") ? 1.0 : 0.0, 0};
}

inline void add_linear(Layout& layout, const std::string& name, int64_t n_in, int64_t n_out) {
    layout.push_back({name + ".weight", {n_out, n_in}});
    layout.push_back({name + ".bias", {n_out}});
}

/// Adds weight and bias of a normalization; an RMSNorm has no bias.
inline void add_norm(Layout& layout, const std::string& name, int64_t n, bool is_rms = false) {
    layout.push_back({name + ".weight", {n}});
    if (!is_rms) layout.push_back({name + ".bias", {n}});
}

}  // namespace surrogate::impl
