// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <array>
#include <map>
#include <string>

namespace surrogate::petsc {

/// Source of a card field, as -surrogate_fields names it: a name and a component.
struct Source {
    std::string name;
    PetscInt component = -1;  ///< -1: not given
};

/// The options of a predictor in PETSc's database, under the solver's prefix.
struct Settings {
    std::string prefix;                                  ///< of the solver, "" if it has none
    std::string model;                                   ///< -surrogate_model
    std::map<std::string, Source, std::less<>> sources;  ///< -surrogate_fields, by name on the card
    /// -surrogate_set: numbers per cloud, by name on the card
    std::map<std::string, double, std::less<>> numbers;
    std::array<PetscReal, 6> box{};  ///< -surrogate_box: x0, x1, y0, y1, z0, z1
    PetscInt n_box = 0;              ///< numbers given
    std::string coordinates_file;    ///< -surrogate_coordinates_file
    bool at_cell_centers = false;    ///< -surrogate_cell_centers
    PetscReal factor =
        1;  ///< -surrogate_factor: of the start's norm, below which predictions are used
    bool is_optional = false;  ///< -surrogate_optional
    bool is_viewed = false;    ///< -surrogate_view

    /// Reads the options; -help lists them. Collective.
    PetscErrorCode read(MPI_Comm comm, const char* solver_prefix);

    /// Returns "-<prefix>surrogate_model" for "model".
    std::string flag(const char* key) const { return "-" + prefix + "surrogate_" + key; }
};

}  // namespace surrogate::petsc
