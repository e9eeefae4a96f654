// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "libsurrogate/src/layers/weights.hpp"

namespace surrogate::impl {

/// Computes surrogate_model_hash(): XXH3-64 of the card as JSON with sorted keys, without blanks
/// and without `checksums`; then of each weight, in the order of the names, its name, its shape and
/// its numbers in single precision. The form in which the file stores them does not matter.
uint64_t model_hash(std::string_view card, const MasterWeights& weights);

}  // namespace surrogate::impl
