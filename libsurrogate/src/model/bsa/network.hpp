// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "libsurrogate/src/model/network.hpp"

/// Ball Sparse Attention (arXiv:2506.12541): the network around kernels/bsa.
namespace surrogate::impl::bsa {

/// At most `n_found` tensors are in the file: a card that asks for far more is refused before its
/// list is made.
std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found);

/// See make_network of the table; `file` has no tensors any more.
std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights);

}  // namespace surrogate::impl::bsa
