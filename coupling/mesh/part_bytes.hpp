// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/mesh/cut.hpp"

namespace surrogate::vtk {

/// A part of a mesh as bytes for another rank of the same machine type, and back: VTK's own format,
/// uncompressed, before the numbers of the rows. Memory beside the part and the returned bytes: the
/// bytes once more while they are made, twice more while they are read.
/// Throws NO_MEMORY; INTERNAL if VTK wrote or read no mesh.
std::string packed(const Part& part);
Part unpacked(const std::string& bytes);

}  // namespace surrogate::vtk
