// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "output.hpp"

namespace airflow {

/// Fields of a picture, side by side, at most.
constexpr int max_fields = 3;

/// Writes the body seen from the left, front and above, once for each of up to max_fields fields,
/// side by side: a parallel projection without light, in a PNG file that rank 0 writes. The number
/// of points is appended to the heading. Collective.
PetscErrorCode write_picture(const std::string& path, const std::string& heading,
                             const Surface& surface, const std::vector<NamedField>& fields);

}  // namespace airflow
