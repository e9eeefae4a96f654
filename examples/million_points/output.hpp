// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <surrogate/surrogate_vtk.hpp>

#include "mesh.hpp"

namespace million {

/// A field for files and figures.
struct NamedField {
    const char* name;   ///< of the array
    const char* title;  ///< in figures
    Vec field;          ///< K
    bool is_difference;
};

/// A directory with parts.pvd: one plate per step, one piece per rank.
class Output {
public:
    /// Creates the directory. Collective.
    PetscErrorCode create(MPI_Comm comm, const std::string& directory);

    /// Adds a plate with its fields, distances, numbers of points (GlobalPointIds, by which
    /// `surrogate predict` identifies points that pieces share) and the rank of each triangle.
    /// Collective.
    PetscErrorCode write(int number, const Mesh& mesh, const std::vector<NamedField>& fields);

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    std::optional<surrogate::Series> series_;
};

}  // namespace million
