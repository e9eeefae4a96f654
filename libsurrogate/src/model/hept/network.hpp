// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "libsurrogate/src/file/model_file.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

/// HEPT (ICML 2024; authors' code Graph-COM/HEPT): the network around kernels/hept.
namespace surrogate::impl::hept {

/// At most `n_found` tensors are in the file: a card that asks for far more is refused before its
/// list is made.
std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found);

/// See make_network of the table; `file` has no tensors any more.
std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights);

}  // namespace surrogate::impl::hept
