// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl {

/// Operation of a reduction of the caller's values; numbers as in surrogate.h.
enum class ReduceBy : int32_t { sum = 0, max = 1, min = 2 };

/// Reduces as surrogate_context_reduce. Collective; does not allocate. Throws on all ranks if the
/// arguments of any of them are wrong, or differ.
void reduce(Communicator& comm, ReduceBy by, int64_t n, double* values);

/// Returns whether it holds on all ranks. Collective: one maximum.
bool on_all_ranks(Communicator& comm, bool holds);

}  // namespace surrogate::impl
