// SPDX-License-Identifier: Apache-2.0
#include "mesh.hpp"

#include <petscsf.h>

#include <cmath>
#include <limits>

namespace million {

namespace {

/// Sets one number per point, none on cells.
PetscErrorCode set_section(DM dm) {
    PetscFunctionBegin;
    Owner<PetscSection, PetscSectionDestroy> section;
    PetscInt begin = 0, end = 0, first = 0, last = 0;
    PetscCall(
        PetscSectionCreate(PetscObjectComm(reinterpret_cast<PetscObject>(dm)), section.out()));
    PetscCall(DMPlexGetChart(dm, &begin, &end));
    PetscCall(DMPlexGetDepthStratum(dm, 0, &first, &last));
    PetscCall(PetscSectionSetChart(section, begin, end));
    for (PetscInt point = first; point < last; ++point)
        PetscCall(PetscSectionSetDof(section, point, 1));
    PetscCall(PetscSectionSetUp(section));
    PetscCall(DMSetLocalSection(dm, section));
    PetscFunctionReturn(0);
}

/// Sends values [n of the whole mesh's points, on rank 0] to the ranks that store the points of
/// `dm`.
template <class T>
PetscErrorCode spread(DM dm, PetscSF from_whole, PetscInt n_cell_whole, MPI_Datatype type,
                      const std::vector<T>& values, std::vector<T>* local) {
    PetscFunctionBegin;
    PetscInt begin = 0, end = 0, first = 0, last = 0;
    PetscCall(DMPlexGetChart(dm, &begin, &end));
    PetscCall(DMPlexGetDepthStratum(dm, 0, &first, &last));
    if (!from_whole) {  // one rank
        *local = values;
        PetscFunctionReturn(0);
    }
    std::vector<T> root, leaf;
    root.resize(std::size_t(n_cell_whole));  // cells come first and have no value
    leaf.resize(std::size_t(end - begin));
    root.insert(root.end(), values.begin(), values.end());
    PetscCall(PetscSFBcastBegin(from_whole, type, root.data(), leaf.data(), MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(from_whole, type, root.data(), leaf.data(), MPI_REPLACE));
    local->assign(leaf.begin() + first, leaf.begin() + last);
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode Mesh::create_plex(const WholeMesh& whole, Owner<DM, DMDestroy>* plex) const {
    PetscFunctionBegin;
    static_assert(sizeof(Position) == 2 * sizeof(PetscReal));
    int is_too_large = whole.n_cell() + whole.n_point() > std::numeric_limits<PetscInt>::max();
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &is_too_large, 1, MPI_INT, MPI_MAX, comm_));
    PetscCheck(!is_too_large, comm_, PETSC_ERR_ARG_OUTOFRANGE,
               "the mesh has more points and cells than a PetscInt can count; configure PETSc with "
               "64-bit indices");
    PetscCall(DMPlexCreateFromCellListPetsc(
        comm_, 2, PetscInt(whole.n_cell()), PetscInt(whole.n_point()), 3, PETSC_FALSE,
        whole.corners.data(), 2, whole.place.empty() ? nullptr : &whole.place.data()->x,
        plex->out()));
    PetscPartitioner partitioner = nullptr;  // borrowed
    PetscCall(DMPlexGetPartitioner(*plex, &partitioner));
    PetscCall(PetscPartitionerSetType(partitioner, PETSCPARTITIONERPTSCOTCH));
    PetscCall(PetscPartitionerSetFromOptions(partitioner));
    PetscFunctionReturn(0);
}

PetscErrorCode Mesh::distribute(MPI_Comm comm, const WholeMesh& whole) {
    PetscFunctionBegin;
    comm_ = comm;
    Owner<DM, DMDestroy> plex;
    Owner<PetscSF, PetscSFDestroy> from_whole;
    PetscCall(create_plex(whole, &plex));
    PetscCall(DMPlexDistribute(plex, 0, from_whole.out(), dm_.out()));
    if (!DM(dm_)) dm_ = std::move(plex);  // one rank
    PetscCall(set_section(dm_));
    PetscCall(set_points(whole, from_whole));
    PetscFunctionReturn(0);
}

PetscErrorCode Mesh::set_points(const WholeMesh& whole, PetscSF from_whole) {
    PetscFunctionBegin;
    std::vector<int64_t> ids(whole.place.size());
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = int64_t(i);
    const auto n_cell = PetscInt(whole.n_cell());
    PetscCall(spread(dm_, from_whole, n_cell, MPI_INT64_T, ids, &id_));
    PetscCall(spread(dm_, from_whole, n_cell, MPIU_REAL, whole.distance, &distance_));
    PetscInt first = 0, end = 0;
    Vec coordinates = nullptr;  // borrowed
    const PetscScalar* x = nullptr;
    PetscCall(DMPlexGetDepthStratum(dm_, 0, &first, &end));
    PetscCall(DMGetCoordinatesLocal(dm_, &coordinates));
    PetscCall(VecGetArrayRead(coordinates, &x));
    coordinates_.clear();
    for (PetscInt i = 0; i < end - first; ++i) coordinates_.push_back({x[2 * i], x[2 * i + 1]});
    PetscCall(VecRestoreArrayRead(coordinates, &x));
    PetscCall(set_owned(first, end));
    PetscCall(set_corners(first));
    PetscFunctionReturn(0);
}

PetscErrorCode Mesh::set_owned(PetscInt first_point, PetscInt end_point) {
    PetscFunctionBegin;
    PetscSection section = nullptr;  // borrowed
    PetscInt offset = 0;
    PetscCall(DMGetGlobalSection(dm_, &section));
    owned_.clear();
    for (PetscInt point = first_point; point < end_point; ++point) {
        PetscCall(PetscSectionGetOffset(section, point, &offset));
        if (offset >= 0) owned_.push_back(point - first_point);  // below 0: owned by another rank
    }
    PetscFunctionReturn(0);
}

PetscErrorCode Mesh::set_corners(PetscInt first_point) {
    PetscFunctionBegin;
    PetscInt first = 0, end = 0;
    const PetscInt* cone = nullptr;
    PetscCall(DMPlexGetHeightStratum(dm_, 0, &first, &end));
    corners_.clear();
    for (PetscInt cell = first; cell < end; ++cell) {
        PetscCall(DMPlexGetCone(dm_, cell, &cone));
        for (int c = 0; c < 3; ++c) corners_.push_back(cone[c] - first_point);
    }
    PetscFunctionReturn(0);
}

PetscErrorCode Mesh::areas(std::vector<double>* areas) const {
    PetscFunctionBegin;
    std::vector<PetscScalar> own(coordinates_.size());
    for (std::size_t cell = 0; cell < corners_.size(); cell += 3) {
        const auto at = [&](std::size_t i) {
            return coordinates_[std::size_t(corners_[cell + i])];
        };
        const double area = std::abs((at(1).x - at(0).x) * (at(2).y - at(0).y) -
                                     (at(1).y - at(0).y) * (at(2).x - at(0).x)) /
                            2;
        for (std::size_t i = 0; i < 3; ++i) own[std::size_t(corners_[cell + i])] += area / 3;
    }
    OwnedVec local, whole;
    PetscCall(
        VecCreateSeqWithArray(PETSC_COMM_SELF, 1, PetscInt(n_local()), own.data(), local.out()));
    PetscCall(new_field(&whole));
    PetscCall(VecSet(whole, 0));
    PetscCall(DMLocalToGlobal(dm_, local, ADD_VALUES, whole));
    PetscCall(local_values(whole, &own));
    areas->assign(own.begin(), own.end());
    PetscFunctionReturn(0);
}

PetscErrorCode Mesh::n_whole(int64_t* n_point, int64_t* n_cell) const {
    PetscFunctionBegin;
    int64_t counts[2] = {n_owned(), this->n_cell()};
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_INT64_T, MPI_SUM, comm_));
    *n_point = counts[0];
    *n_cell = counts[1];
    PetscFunctionReturn(0);
}

PetscErrorCode Mesh::new_field(OwnedVec* field) const {
    PetscFunctionBegin;
    PetscCall(DMCreateGlobalVector(dm_, field->out()));
    PetscFunctionReturn(0);
}

PetscErrorCode Mesh::local_values(Vec field, std::vector<PetscScalar>* values) const {
    PetscFunctionBegin;
    OwnedVec local;
    values->resize(std::size_t(n_local()));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, PetscInt(n_local()), values->data(),
                                    local.out()));
    PetscCall(DMGlobalToLocal(dm_, field, INSERT_VALUES, local));
    PetscFunctionReturn(0);
}

}  // namespace million
