// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "coupling/dataset/content.hpp"

namespace surrogate::dataset {

/// Throws SHAPE, INVALID_ARGUMENT or NOT_SUPPORTED unless the array is a column of n numbers in
/// host memory that the variable can hold. n < 0: of any length.
void check_numbers(const surrogate_array& array, const Variable& variable, int64_t n);

/// Copies the numbers of a column contiguously, in the type of the variable. Throws NOT_FINITE with
/// the variable and the index of the number; `first` is the index of the column's first number.
void pack(const surrogate_array& array, const Variable& variable, int64_t first,
          std::vector<std::byte>* packed);

}  // namespace surrogate::dataset
