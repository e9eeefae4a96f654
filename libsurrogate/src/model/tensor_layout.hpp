// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libsurrogate/src/model/network.hpp"

/// Modules of PyTorch in the list of tensors that a network needs.
namespace surrogate::impl {

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
