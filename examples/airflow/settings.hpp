// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <string>
#include <vector>

#include "panel.hpp"

namespace airflow {

/// The command line; -help prints the defaults.
struct Settings {
    PetscInt n_point = 20000;
    PetscInt n_panel = 10000;
    PetscReal near =
        usual_near;  ///< diameters of a panel within which the integrals over it are exact
    PetscInt seed = 1;
    PetscInt n_shape = 1;
    std::string model;                  ///< "": without a surrogate
    std::string output;                 ///< directory, or "": no file is written
    std::vector<std::string> compared;  ///< model files, for one figure of their differences
    std::string samples;                ///< directory of data sets for training, or ""
    std::vector<PetscInt> sample_points;
    bool is_sweep = false;
    std::vector<PetscInt> sweep_panels = {2000, 3000, 4000, 6000};  ///< rising, below n_panel
    std::vector<PetscInt> sweep_points = {1900, 3800, 7600};
    PetscInt n_sweep_round = 3;
    PetscReal training_seconds = 0;  ///< 0: no break-even is printed

    /// Reads the options. Throws an error for a number out of its range. Collective.
    PetscErrorCode read(MPI_Comm comm);
    /// Returns the command that writes the samples of a number of points.
    std::string samples_command(PetscInt n_sample_point) const;

private:
    PetscErrorCode check(MPI_Comm comm) const;
    PetscErrorCode check_sweep(MPI_Comm comm) const;
};

}  // namespace airflow
