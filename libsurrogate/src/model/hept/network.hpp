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

/// Returns the tensors that the card requires. The file has `n_found` tensors: a card that requires
/// far more is rejected before the list is built.
std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found);

/// Creates the network; see make_network of the table of families. `file` no longer holds tensors.
std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights);

/// Returns the initial distribution of tensor `i`, and whether a tensor belongs to the layer that
/// returns the outputs, as the functions of the table of families do.
InitialValues initial_values(const Card& card, const Layout& layout, size_t i, uint64_t seed);
bool is_of_output(const Card& card, const TensorSpec& tensor);

}  // namespace surrogate::impl::hept
