// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// Initial distribution of a tensor's numbers in a network that is to be trained: mean + width
/// times a normal number, or one between -1 and 1.
struct InitialValues {
    enum class Kind { constant, normal, uniform } kind = Kind::constant;
    double mean = 0, width = 0;
};

using Layout = std::vector<TensorSpec>;

inline void add_linear(Layout& layout, const std::string& name, int64_t n_in, int64_t n_out) {
    layout.push_back({name + ".weight", {n_out, n_in}});
    layout.push_back({name + ".bias", {n_out}});
}

/// An RMSNorm has no bias.
inline void add_norm(Layout& layout, const std::string& name, int64_t n, bool is_rms = false) {
    layout.push_back({name + ".weight", {n}});
    if (!is_rms) layout.push_back({name + ".bias", {n}});
}

}  // namespace surrogate::impl
