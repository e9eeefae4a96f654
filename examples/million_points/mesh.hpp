// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscdmplex.h>

#include <vector>

#include "owner.hpp"
#include "whole_mesh.hpp"

namespace million {

using OwnedVec = Owner<Vec, VecDestroy>;

/// The mesh on all ranks. Each has the triangles of its PT-Scotch partition (-petscpartitioner_type
/// selects another partitioner) and all their points; a point of several ranks is owned by one of
/// them.
///
/// "Local" are the points that a rank stores, in the order of the local vectors of dm(); "owned"
/// are the points among them that it owns, in the order of the global vectors.
class Mesh {
public:
    /// Distributes the mesh on rank 0, which is empty on other ranks. Collective.
    PetscErrorCode distribute(MPI_Comm comm, const WholeMesh& whole);

    MPI_Comm comm() const { return comm_; }
    /// Returns a DMPlex with one number per point.
    DM dm() const { return dm_; }

    int64_t n_local() const { return int64_t(coordinates_.size()); }
    int64_t n_owned() const { return int64_t(owned_.size()); }
    int64_t n_cell() const { return int64_t(corners_.size()) / 3; }
    PetscErrorCode n_whole(int64_t* n_point, int64_t* n_cell) const;  ///< Collective.

    const std::vector<Position>& coordinates() const { return coordinates_; }  ///< local
    const std::vector<PetscReal>& distance() const { return distance_; }       ///< local
    /// Returns the number of each local point in the whole mesh, the same on any number of ranks.
    const std::vector<int64_t>& id() const { return id_; }
    const std::vector<PetscInt>& owned() const { return owned_; }      ///< local numbers
    const std::vector<PetscInt>& corners() const { return corners_; }  ///< local numbers

    /// Returns the area of each local point: a third of its triangles on all ranks. Collective.
    PetscErrorCode areas(std::vector<double>* areas) const;

    PetscErrorCode new_field(OwnedVec* field) const;
    /// Returns the values of all local points. Collective.
    PetscErrorCode local_values(Vec field, std::vector<PetscScalar>* values) const;

private:
    PetscErrorCode create_plex(const WholeMesh& whole, Owner<DM, DMDestroy>* plex) const;
    PetscErrorCode set_points(const WholeMesh& whole, PetscSF from_whole);
    PetscErrorCode set_owned(PetscInt first_point, PetscInt end_point);
    PetscErrorCode set_corners(PetscInt first_point);

    MPI_Comm comm_ = MPI_COMM_NULL;
    Owner<DM, DMDestroy> dm_;
    std::vector<Position> coordinates_;
    std::vector<PetscReal> distance_;
    std::vector<int64_t> id_;
    std::vector<PetscInt> owned_, corners_;
};

}  // namespace million
