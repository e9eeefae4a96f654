// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "output.hpp"

namespace million {

/// The fields side by side as a .png, and with several ranks who has which triangles. Temperatures
/// from 0 to `hottest`, differences a tenth of that to either side. Collective; rank 0 writes.
PetscErrorCode write_picture(const std::string& path, const std::string& heading, const Mesh& mesh,
                             const std::vector<NamedField>& fields, double hottest);

}  // namespace million
