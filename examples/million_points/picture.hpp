// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "output.hpp"

namespace million {

/// Draws the fields side by side to a .png and, on several ranks, the partition of the triangles.
/// Temperatures range from 0 to `hottest`, differences over a tenth of it on either side.
/// Collective; rank 0 writes.
PetscErrorCode write_picture(const std::string& path, const std::string& heading, const Mesh& mesh,
                             const std::vector<NamedField>& fields, double hottest);

}  // namespace million
