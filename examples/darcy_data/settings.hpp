// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fluid/grid.hpp>
#include <string>
#include <vector>

namespace darcy {

/// The command line; -help prints the defaults.
struct DataSettings {
    std::vector<PetscInt> n = {40};  ///< cells in x and y, one file each
    PetscInt n_run = 200;
    PetscInt per_run = 5;  ///< states of each run, at steps drawn without repetition
    PetscInt n_step = 24;
    PetscReal dt_s = 0.02;
    PetscInt seed = 0;        ///< of the first run; the next ones count up
    PetscInt n_symmetry = 1;  ///< images of the square in which each state is stored, 1 .. 8
    bool single = false;      ///< float32 in the file
    Mobilities mobilities;
    std::string output = ".";  ///< folder of darcy_<n>.h5

    PetscErrorCode read(MPI_Comm comm);

    PetscInt n_sample() const { return n_run * per_run * n_symmetry; }
    std::string path(PetscInt n_cell) const;
    /// Returns the command that writes a file of n_cell cells again.
    std::string command(PetscInt n_cell) const;
};

}  // namespace darcy
