// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "libsurrogate/src/model/network.hpp"

/// Erwin's U-net (arXiv:2502.17019): ball attention on the levels of one ball tree, behind message
/// passing along the edges of the domain. A baseline of Ball Sparse Attention, whose trees and blocks
/// it shares.
namespace surrogate::impl::bsa::erwin {

/// At most `n_found` tensors are in the file; see the family table.
std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found);

std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights);

}  // namespace surrogate::impl::bsa::erwin
