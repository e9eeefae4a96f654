// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "output.hpp"

namespace airflow {

/// The body from the left, in front and above, once for each field and side by side: a parallel
/// projection without light, in a PNG file that rank 0 writes. The heading goes on with the number
/// of points. Collective.
PetscErrorCode write_picture(const std::string& path, const std::string& heading,
                             const Surface& surface, const std::vector<NamedField>& fields);

}  // namespace airflow
