// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "libsurrogate/src/file/model_file.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

/// A linear map of the inputs of each point, which the card holds: a model without weights for
/// tests of hosts. See share/doc/reference/families/affine.md.
namespace surrogate::impl::affine {

/// Returns no tensor. Throws bad_file if the card is not valid.
std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found);

std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights);

}  // namespace surrogate::impl::affine
