// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "coupling/training/card.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Returns the index of the input that an output is stepped into; -1: none.
int64_t input_of(const ModelChannels& channels, const Channel& output);

/// Throws Failure where a model cannot step from its own predictions: no series, points that move,
/// an output that is no input.
void check_rollout(int64_t rollout, const TrainData& data, const ModelChannels& channels);

/// Number of leads before a pair's input at which a model starts to predict that input itself: 0 ..
/// rollout - 1 at random, as far as the sample goes back; the same for the same numbers.
int64_t random_own_leads(int64_t rollout, const Pair& pair, int64_t seed, int64_t epoch,
                         int64_t index);

/// Most leads that a pair can be preceded by, below `rollout`.
int64_t most_own_leads(int64_t rollout, const Pair& pair);

/// The input of a pair, n leads earlier.
dataset::State earlier(const Pair& pair, int64_t n);

}  // namespace surrogate::tool
