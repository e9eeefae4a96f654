// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <string>

#include "run.hpp"

namespace darcy {

/// The command line; -help prints the defaults.
struct Settings {
    PetscInt n = 40;
    PetscInt n_step = 24;
    PetscReal dt_s = 0.02;
    PetscInt seed = 7;
    Mobilities mobilities;
    std::string initial;  ///< file of the initial concentration, or "": random, from the seed
    std::string model;    ///< "": without a surrogate
    std::string output;   ///< directory, or "": no file is written
    Way way = ways[1];
    bool compare = false;
    bool tolerances = false;

    PetscErrorCode read(MPI_Comm comm);
};

}  // namespace darcy
