// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "coupling/dataset/content.hpp"

namespace surrogate::dataset {

/// Throws SHAPE, INVALID_ARGUMENT or NOT_SUPPORTED unless it is a column of n numbers of the host
/// that the variable can hold. n < 0: of any length.
void check_numbers(const surrogate_array& array, const Variable& variable, int64_t n);

/// The numbers of a column one behind the other, in the type of the variable. Throws NOT_FINITE,
/// naming the variable and the number: `first` is that of the column's first one.
void pack(const surrogate_array& array, const Variable& variable, int64_t first,
          std::vector<std::byte>* packed);

}  // namespace surrogate::dataset
