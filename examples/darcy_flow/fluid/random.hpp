// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace darcy {

/// Return random numbers that are functions of their arguments, so that any rank can draw any
/// number separately: uniform in (0, 1), both ends excluded, and standard normal.
double uniform(uint64_t seed, uint64_t index);
double normal(uint64_t seed, uint64_t index);

}  // namespace darcy
