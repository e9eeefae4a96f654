// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/mesh/mesh_fields.hpp"
#include "coupling/mesh/mesh_file.hpp"
#include "coupling/tool/predict_target.hpp"

namespace surrogate::tool {

/// Writes the mesh `in` with the predicted values to the file of `target`. `mesh` is this rank's
/// part of it; the values are the outputs of `plan`, each at all rows of the part. Depending on the
/// name, writes one piece per rank or one file, for which rank 0 gathers. Collective. Throws
/// Failure on all ranks; an earlier result is then unchanged, and the new files are deleted.
///   compression  of the arrays in the file
void write_mesh(const Job& job, const std::string& in, const Target& target, vtk::MeshFile& mesh,
                const FieldPlan& plan, const std::vector<std::vector<double>>& outputs,
                vtk::Compression compression);

}  // namespace surrogate::tool
