// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "libsurrogate/src/model/family/network.hpp"

/// Checks of families on scattered points with common messages. `family`: name in a message for
/// one.
namespace surrogate::impl {

/// Returns the points of a request. Throws not_supported unless both domains are one domain of
/// points.
const PointDomain& same_points(const PlanRequest& request, const char* family);

/// Throws bad_file if the card chooses between conventions.
void require_no_conventions(const Card& card, const char* family);

/// Throws bad_file if a network has far more tensors than the file: call it before the list of them
/// takes memory.
void require_few_tensors(int64_t n_tensor, int64_t n_found);

/// Throws invalid_argument if gather() found, as `bad`, a value of `input` that is none of `n_word`
/// words: call it once all exchanges of a run are over.
void require_words(const BadValue& bad, const char* input, int64_t n_word,
                   const PointDomain& domain);

}  // namespace surrogate::impl
