// SPDX-License-Identifier: Apache-2.0
#include "surface.hpp"

#include <unordered_map>

namespace airflow {

namespace {

/// Returns this rank's range of n items: equal sizes on all ranks, in the order of ranks.
PetscErrorCode split(MPI_Comm comm, int64_t n, int64_t* first, int64_t* n_mine) {
    PetscFunctionBegin;
    PetscInt local = PETSC_DECIDE, global = 0;
    int64_t before = 0;
    PetscCall(PetscIntCast(n, &global));
    PetscCall(PetscSplitOwnership(comm, &local, &global));
    const int64_t mine = local;
    PetscCallMPI(MPI_Scan(&mine, &before, 1, MPI_INT64_T, MPI_SUM, comm));
    *first = before - mine;
    *n_mine = mine;
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode Surface::create(MPI_Comm comm, const Body& body, int64_t n_point) {
    PetscFunctionBegin;
    comm_ = comm;
    grid_ = BoxGrid::of_points(n_point, body.extent);
    id_.clear();
    corners_.clear();
    coordinates_.clear();
    normal_.clear();
    int64_t first = 0;
    PetscCall(split(comm, grid_.n_point(), &first, &n_owned_));
    for (int64_t p = 0; p < n_owned_; ++p) add_point(body, first + p);
    PetscCall(find_corners(body, first));
    PetscFunctionReturn(0);
}

void Surface::add_point(const Body& body, int64_t number) {
    const Vector3 direction = grid_.direction(grid_.point(number));
    id_.push_back(number);
    coordinates_.push_back(body.at(direction));
    normal_.push_back(normal_at(body, direction));
}

PetscErrorCode Surface::find_corners(const Body& body, int64_t first_point) {
    PetscFunctionBegin;
    int64_t first = 0, n_cell = 0;
    PetscCall(split(comm_, grid_.n_cell(), &first, &n_cell));
    std::unordered_map<int64_t, int64_t> others;  // number -> local
    for (int64_t cell = first; cell < first + n_cell; ++cell)
        for (const int64_t number : grid_.corners(cell)) {
            int64_t local = number - first_point;
            if (local < 0 || local >= n_owned_) {
                local = others.try_emplace(number, n_local()).first->second;
                if (local == n_local()) add_point(body, number);
            }
            corners_.push_back(local);
        }
    PetscFunctionReturn(0);
}

PetscErrorCode Surface::new_field(OwnedVec* field) const {
    PetscFunctionBegin;
    const std::vector<PetscInt> others(id_.begin() + n_owned_, id_.end());
    PetscCall(VecCreateGhost(comm_, PetscInt(n_owned_), PETSC_DECIDE, PetscInt(others.size()),
                             others.data(), field->out()));
    PetscFunctionReturn(0);
}

PetscErrorCode Surface::local_values(Vec field, std::vector<double>* values) const {
    PetscFunctionBegin;
    Vec local = nullptr;
    const PetscScalar* data = nullptr;
    PetscCall(VecGhostUpdateBegin(field, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecGhostUpdateEnd(field, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecGhostGetLocalForm(field, &local));
    PetscCall(VecGetArrayRead(local, &data));
    values->assign(data, data + n_local());
    PetscCall(VecRestoreArrayRead(local, &data));
    PetscCall(VecGhostRestoreLocalForm(field, &local));
    PetscFunctionReturn(0);
}

PetscErrorCode Surface::integrate(Vec field, Vector3* integral) const {
    PetscFunctionBegin;
    std::vector<double> value;
    PetscCall(local_values(field, &value));
    *integral = {};
    for (std::size_t c = 0; c < corners_.size(); c += 4) {
        const int64_t* k = &corners_[c];
        const double mean = (value[k[0]] + value[k[1]] + value[k[2]] + value[k[3]]) / 4;
        *integral +=
            0.5 * mean *
            cross(coordinates_[k[2]] - coordinates_[k[0]], coordinates_[k[3]] - coordinates_[k[1]]);
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, integral, 3, MPI_DOUBLE, MPI_SUM, comm_));
    PetscFunctionReturn(0);
}

}  // namespace airflow
