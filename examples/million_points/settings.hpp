// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <string>

namespace million {

/// The command line; -help prints the defaults.
struct Settings {
    PetscInt n_point = 1000000;
    PetscInt seed = 1;
    PetscInt n_plate = 1;
    std::string mesh;     ///< a .vtu to read, or "": the mesh is created
    std::string model;    ///< "": without a surrogate
    std::string output;   ///< directory, or "": no file is written
    std::string samples;  ///< data set for training, or ""
    PetscInt n_sample_point = 1024;
    PetscBool is_weighted = PETSC_FALSE;  ///< points have their areas as weights

    /// Reads the options. Throws an error for a number out of its range. Collective.
    PetscErrorCode read(MPI_Comm comm);
    /// Returns the command that writes the same samples.
    std::string command() const;

private:
    PetscErrorCode check(MPI_Comm comm) const;
};

}  // namespace million
