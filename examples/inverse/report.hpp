// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "inversion.hpp"

namespace inverse {

/// One line of the table.
struct Row {
    std::string title;
    Result result;
    PetscReal misfit_solver = 0;  ///< of the readings to the solver's pressure of result.a
    PetscReal error = 0;          ///< |a - a_true| / |a_true|, L2
    bool is_inverted = true;      ///< false: a field to compare with
};

/// Prints the table. Misfits are mean squares of (p - reading) / deviation. Collective.
PetscErrorCode print_table(MPI_Comm comm, const Sensors& sensors, const std::vector<Row>& rows);

}  // namespace inverse
