// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/mesh/cut.hpp"

namespace surrogate::vtk {

/// Serializes a part of a mesh for another rank with the same machine type: VTK's own format,
/// uncompressed, before the numbers of the rows. Allocates, in addition to the part and the
/// returned bytes, the bytes once more during writing and twice more during reading. Throws
/// NO_MEMORY; INTERNAL if VTK wrote or read no mesh.
std::string packed(const Part& part);
Part unpacked(const std::string& bytes);

}  // namespace surrogate::vtk
