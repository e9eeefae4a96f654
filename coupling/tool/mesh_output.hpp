// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/mesh/mesh_fields.hpp"
#include "coupling/mesh/mesh_file.hpp"
#include "coupling/tool/predict_target.hpp"

namespace surrogate::tool {

/// The mesh `in`, of which `mesh` is this rank's share, with the predicted values (outputs of
/// `plan`, each at all rows of the share) in the file of `target`: one piece a rank if its name
/// says so, else one file, for which rank 0 gathers. Collective. Throws Failure on all ranks; an
/// earlier result is then as it was, and nothing of this one is left.
///   compression  of the arrays in the file
void write_mesh(const Job& job, const std::string& in, const Target& target, vtk::MeshFile& mesh,
                const FieldPlan& plan, const std::vector<std::vector<double>>& outputs,
                vtk::Compression compression);

}  // namespace surrogate::tool
