// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include "settings.hpp"

namespace darcy {

/// Writes the data set of one resolution. Whole runs are distributed over the ranks of the context:
/// each is computed by one rank, so that its results do not depend on the others. Sample (r *
/// per_run + k) * n_symmetry + s is image s of state k of run r. Collective; errors of the file are
/// the same on all ranks.
PetscErrorCode make_data(MPI_Comm comm, surrogate_context* context, const DataSettings& settings,
                         PetscInt n_cell);

}  // namespace darcy
