// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <surrogate/surrogate_vtk.hpp>
#include <vector>

#include "surface.hpp"

namespace airflow {

/// A field of the points for files and figures.
struct NamedField {
    const char* name;
    const char* title;  ///< of its panel
    Vec field;
    double min, max;  ///< ends of the color map
    bool is_difference;
};

/// Writes the bodies one after the other as a series: DIR/cars.pvd, one body per step, one piece
/// per rank.
class Output {
public:
    /// Creates the directory. Collective.
    PetscErrorCode create(MPI_Comm comm, const std::string& directory);
    /// Writes a body and its fields, which are dimensionless. Collective.
    PetscErrorCode write(int number, const Surface& surface, const std::vector<NamedField>& fields);

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    std::optional<surrogate::Series> series_;
};

}  // namespace airflow
