// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "libsurrogate/src/file/attached_file.hpp"
#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/file/model_file.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

/// The table of model families, and what it answers for the family that a card names.
namespace surrogate::impl {

/// Returns the distribution from which the official code of the family draws tensor `i` of the
/// layout that required_tensors() returns for the card. Values of kind table are drawn from the
/// seed. Throws bad_file, not_supported.
InitialValues initial_values(const Card& card, const Layout& layout, size_t i, uint64_t seed);

/// Returns whether a tensor belongs to the layer that returns the outputs. Throws bad_file,
/// not_supported.
bool is_of_output(const Card& card, const TensorSpec& tensor);

/// Returns names and shapes of all weights that a card requires. Throws bad_file (hyperparameters),
/// not_supported (family). n_found: number of tensors in the file; a card that requires far more is
/// rejected before the list is allocated.
std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found);

/// Returns the file beside the model file that a card names. Throws bad_file, not_supported.
std::optional<AttachedFile> attached_file(const Card& card);

/// Gives tensors that a file has under their other names those that the network wants.
void adopt_names(std::span<const TensorSpec> required, std::vector<TensorEntry>& found);

/// Throws bad_file unless the file's tensors outside of check/ are exactly `required`: names with
/// near misses, shapes.
void match_tensors(std::span<const TensorSpec> required, std::span<const TensorEntry> found);

/// Makes the network of a loaded file whose tensors matched and became `weights`.
std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights);

}  // namespace surrogate::impl
