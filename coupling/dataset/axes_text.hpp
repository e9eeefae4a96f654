// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coupling/dataset/read_form.hpp"

namespace surrogate::dataset {

/// Returns the names of axes as "(sample, point)".
std::string axes_text(const std::vector<std::string>& axes);

/// Returns the error in the axes of a floating-point variable, and its repair with h5py.
///   expected  axes of a field, with their extents
std::string wrong_axes(const StoredVariable& variable, const std::vector<std::string>& expected,
                       const std::vector<int64_t>& extents);

}  // namespace surrogate::dataset
