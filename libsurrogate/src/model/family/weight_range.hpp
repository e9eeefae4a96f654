// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libsurrogate/src/layers/gradients.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl {

/// Returns the elements of an arena from weight `first` to the end of weight `last`.
inline Range range_of(const MasterWeights& master, const WeightName& first,
                      const WeightName& last) {
    const MasterWeights::Entry* const end = master.find(last);
    return {master.find(first)->first, end->first + end->size};
}

}  // namespace surrogate::impl
