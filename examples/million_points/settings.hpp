// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <string>

namespace million {

/// The command line; defaults as -help prints them.
struct Settings {
    PetscInt n_point = 1000000;
    PetscInt seed = 1;
    PetscInt n_plate = 1;
    std::string mesh;     ///< a .vtu to read, or "": made
    std::string model;    ///< "": without a surrogate
    std::string output;   ///< directory, or "": nothing is written
    std::string samples;  ///< data set for training, or ""
    PetscInt n_sample_point = 1024;

    /// Errors: a number out of its range. Collective.
    PetscErrorCode read(MPI_Comm comm);
    /// Settings that determine the samples.
    std::string command() const;

private:
    PetscErrorCode check(MPI_Comm comm) const;
};

}  // namespace million
