// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "coupling/training/card.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Returns the index of the input that an output becomes in the next step; -1: none.
int64_t input_of(const ModelChannels& channels, const Channel& output);

/// Throws Failure if the model cannot step from its own predictions: the data are not a series,
/// points move, or an output is not an input.
void check_rollout(int64_t rollout, const TrainData& data, const ModelChannels& channels);

/// Returns the number of leads before a pair's input at which the model starts to predict this
/// input: a random number in 0 .. rollout - 1, limited by the beginning of the sample. Equal
/// arguments give equal numbers.
int64_t random_own_leads(int64_t rollout, const Pair& pair, int64_t seed, int64_t epoch,
                         int64_t index);

/// Returns the maximum number of leads before the input of a pair, below `rollout`.
int64_t most_own_leads(int64_t rollout, const Pair& pair);

/// Returns the state n leads before the input of a pair.
dataset::State earlier(const Pair& pair, int64_t n);

}  // namespace surrogate::tool
