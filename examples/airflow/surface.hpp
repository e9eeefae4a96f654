// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscvec.h>

#include <vector>

#include "body.hpp"
#include "box_grid.hpp"
#include "owner.hpp"

namespace airflow {

using OwnedVec = Owner<Vec, VecDestroy>;

/// The surface of a body as a mesh of quadrangles distributed over the ranks: each owns a range of
/// the points and a range of the cells, and computes them from their numbers alone. The mesh is the
/// same on any number of ranks.
class Surface {
public:
    /// Creates a mesh of about n_point points. Collective.
    PetscErrorCode create(MPI_Comm comm, const Body& body, int64_t n_point);

    MPI_Comm comm() const { return comm_; }
    const BoxGrid& grid() const { return grid_; }
    int64_t n_owned() const { return n_owned_; }
    int64_t n_local() const { return static_cast<int64_t>(id_.size()); }
    int64_t n_cell() const { return static_cast<int64_t>(corners_.size()) / 4; }

    /// Returns the numbers of the local points: owned points first, then corners of owned cells
    /// that other ranks own. Positions (m) and unit normals that point out of the body follow the
    /// same order.
    const std::vector<int64_t>& id() const { return id_; }
    const std::vector<Vector3>& coordinates() const { return coordinates_; }
    const std::vector<Vector3>& normal() const { return normal_; }
    /// Returns four local points per cell, counter-clockwise as seen from outside.
    const std::vector<int64_t>& corners() const { return corners_; }

    /// Creates a field of the points: one value for each point that this rank owns, with ghost
    /// values for the others.
    PetscErrorCode new_field(OwnedVec* field) const;
    /// Returns the values of all local points, including ghosts received from other ranks.
    /// Collective.
    PetscErrorCode local_values(Vec field, std::vector<double>* values) const;
    /// Returns the integral of a field times the outward normal over the surface, over all ranks.
    /// Collective.
    PetscErrorCode integrate(Vec field, Vector3* integral) const;

private:
    void add_point(const Body& body, int64_t number);
    PetscErrorCode find_corners(const Body& body, int64_t first_point);

    MPI_Comm comm_ = MPI_COMM_NULL;
    BoxGrid grid_;
    int64_t n_owned_ = 0;
    std::vector<int64_t> id_, corners_;
    std::vector<Vector3> coordinates_, normal_;
};

}  // namespace airflow
