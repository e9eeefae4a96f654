// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace surrogate::test {

/// Lets the n-th call of operator new from now on (1: the next) throw std::bad_alloc, once;
/// failing_allocations.cpp replaces it for the whole program.
void fail_allocation(int64_t n);

/// Ends that. Returns whether the allocation was reached and failed.
bool end_failing_allocation();

}  // namespace surrogate::test
