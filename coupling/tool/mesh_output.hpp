// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/mesh/mesh_file.hpp"
#include "coupling/tool/predict_target.hpp"

namespace surrogate::tool {

/// An array that is added to a mesh: one number per point or cell.
struct MeshArray {
    vtk::ArrayInfo info;
    std::vector<double> values;
};

/// Returns an array of real numbers, float if `is_float`.
MeshArray real_array(const std::string& name, bool is_float, const std::string& unit,
                     std::vector<double> values);

/// Writes the mesh `in` with further arrays to the file of `target`. `mesh` is this rank's part of
/// it; the arrays have the values at all rows of the part, `location` is SURROGATE_POINT or
/// SURROGATE_CELL. Depending on the name, writes one piece per rank or one file, for which rank 0
/// gathers. Collective. Throws Failure on all ranks; an earlier result is then unchanged, and the
/// new files are deleted.
///   compression  of the arrays in the file
void write_mesh(const Job& job, const std::string& in, const Target& target, vtk::MeshFile& mesh,
                int location, const std::vector<MeshArray>& arrays, vtk::Compression compression);

}  // namespace surrogate::tool
