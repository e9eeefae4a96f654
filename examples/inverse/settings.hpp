// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <string>

namespace inverse {

/// The command line; -help prints the defaults.
struct Settings {
    PetscInt n = 40;
    PetscInt n_mode = 5;    ///< the parameters are the n_mode^2 longest waves
    PetscInt n_sensor = 6;  ///< in x and in y
    PetscReal noise = 0.01;
    PetscReal width = 0.3;
    PetscReal prior = 1;
    PetscInt seed = 7;
    std::string gradient = "all";  ///< adjoint, surrogate, differences, or all
    std::string model;             ///< file
    std::string output;            ///< folder, or "": no figure is written

    PetscErrorCode read(MPI_Comm comm);
};

}  // namespace inverse
