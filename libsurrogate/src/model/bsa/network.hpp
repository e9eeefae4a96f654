// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "libsurrogate/src/file/model_file.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

/// Ball Sparse Attention (arXiv:2506.12541): the network around kernels/bsa.
namespace surrogate::impl::bsa {

/// At most `n_found` tensors are in the file: a card that asks for far more is refused before its
/// list is made.
std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found);

/// See make_network of the table; `file` has no tensors any more.
std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights);

}  // namespace surrogate::impl::bsa

/// Erwin's U-net (arXiv:2502.17019): ball attention on the levels of one ball tree, behind message
/// passing along the edges of the domain. A baseline of Ball Sparse Attention, whose trees and
/// blocks it shares; a family of its own in files.
namespace surrogate::impl::bsa::erwin {

/// As above.
std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found);
std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights);

}  // namespace surrogate::impl::bsa::erwin
