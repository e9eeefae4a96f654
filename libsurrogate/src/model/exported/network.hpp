// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "libsurrogate/src/file/attached_file.hpp"
#include "libsurrogate/src/file/model_file.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

/// Networks that PyTorch has exported and compiled: family torch.
namespace surrogate::impl::exported {

/// Returns no tensors: weights are in the package. Throws bad_file for a wrong card.
std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found);

/// Returns the package that the card names.
std::optional<AttachedFile> attached_file(const Card& card);

/// Creates the network, which opens file.attached with the first plan; see make_network of the
/// table of families.
std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights);

}  // namespace surrogate::impl::exported
