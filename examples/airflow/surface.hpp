// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscvec.h>

#include <vector>

#include "body.hpp"
#include "box_grid.hpp"
#include "owner.hpp"

namespace airflow {

using OwnedVec = Owner<Vec, VecDestroy>;

/// The surface of a body as a mesh of quadrangles spread over the ranks: each owns a range of the
/// points and a range of the cells, and makes them from their numbers alone. The same mesh on any
/// number of ranks.
class Surface {
public:
    /// About n_point points. Collective.
    PetscErrorCode create(MPI_Comm comm, const Body& body, int64_t n_point);

    MPI_Comm comm() const { return comm_; }
    const BoxGrid& grid() const { return grid_; }
    int64_t n_owned() const { return n_owned_; }
    int64_t n_local() const { return static_cast<int64_t>(id_.size()); }
    int64_t n_cell() const { return static_cast<int64_t>(corners_.size()) / 4; }

    /// The points that this rank owns, then corners of its cells that others own: numbers, places
    /// (m) and unit normals that point out of the body.
    const std::vector<int64_t>& id() const { return id_; }
    const std::vector<Vector3>& place() const { return place_; }
    const std::vector<Vector3>& normal() const { return normal_; }
    /// Four local points a cell, counter-clockwise as seen from outside.
    const std::vector<int64_t>& corners() const { return corners_; }

    /// A field of the points: one value for each point that this rank owns, with room for others'.
    PetscErrorCode new_field(OwnedVec* field) const;
    /// The values of all local points, those of other ranks brought here. Collective.
    PetscErrorCode local_values(Vec field, std::vector<double>* values) const;
    /// The integral of a field times the outward normal over the surface, over all ranks.
    /// Collective.
    PetscErrorCode integrate(Vec field, Vector3* integral) const;

private:
    void add_point(const Body& body, int64_t number);
    PetscErrorCode find_corners(const Body& body, int64_t first_point);

    MPI_Comm comm_ = MPI_COMM_NULL;
    BoxGrid grid_;
    int64_t n_owned_ = 0;
    std::vector<int64_t> id_, corners_;
    std::vector<Vector3> place_, normal_;
};

}  // namespace airflow
