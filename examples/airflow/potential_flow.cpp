// SPDX-License-Identifier: Apache-2.0
#include "potential_flow.hpp"

namespace airflow {

namespace {

constexpr Vector3 wind{1, 0, 0};
/// Velocities by pairs of panels are stored up to this size on a rank (13,000 panels on one rank),
/// else computed twice.
constexpr std::size_t max_stored_bytes = std::size_t(1) << 30;

/// Gathers the values of a vector on all ranks.
PetscErrorCode gather_to_all(Vec vec, std::vector<double>* values) {
    PetscFunctionBegin;
    Owner<VecScatter, VecScatterDestroy> scatter;
    Owner<Vec, VecDestroy> all;
    const PetscScalar* data = nullptr;
    PetscInt n = 0;
    PetscCall(VecScatterCreateToAll(vec, scatter.out(), all.out()));
    PetscCall(VecScatterBegin(scatter, vec, all, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, vec, all, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecGetLocalSize(all, &n));
    PetscCall(VecGetArrayRead(all, &data));
    values->assign(data, data + n);
    PetscCall(VecRestoreArrayRead(all, &data));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode PotentialFlow::solve(MPI_Comm comm, const Body& body, const BoxGrid& grid,
                                    const Mirrors& mirrors) {
    PetscFunctionBegin;
    comm_ = comm;
    make_panels(body, grid, mirrors);
    PetscCall(assemble());
    PetscCall(solve_sources());
    PetscCall(find_velocities());
    matrix_ = {};
    stored_ = {};
    PetscFunctionReturn(0);
}

void PotentialFlow::make_panels(const Body& body, const BoxGrid& grid, const Mirrors& mirrors) {
    grid_ = grid;
    is_half_ = mirrors.middle;
    images_ = {{1, 1}};
    if (mirrors.middle) images_.push_back({-1, 1});
    if (mirrors.ground) images_.push_back({1, -1});
    if (mirrors.middle && mirrors.ground) images_.push_back({-1, -1});
    cells_.clear();
    panels_.clear();
    for (int64_t cell = 0; cell < grid_.n_cell(); ++cell) {
        std::array<Vector3, 4> points;
        int64_t across = 0;
        for (int c = 0; c < 4; ++c) {
            const BoxGrid::Index index = grid_.point(grid_.corners(cell)[c]);
            points[c] = body.at(grid_.direction(index));
            across += 2 * index[1] - grid_.n()[1];
        }
        if (is_half_ && across < 0) continue;
        cells_.push_back(cell);
        panels_.push_back(Panel::through(points));
    }
}

/// The effect of an image is the effect of the panel on the mirrored point, mirrored back.
Vector3 PotentialFlow::induced(PetscInt at, PetscInt by) const {
    const Vector3& x = panels_[at].centre;
    Vector3 sum = at == by ? own_velocity(panels_[by]) : source_velocity(panels_[by], x, near_);
    for (std::size_t k = 1; k < images_.size(); ++k) {
        const Image& image = images_[k];
        const Vector3 v = source_velocity(panels_[by], {x.x, image.y * x.y, image.z * x.z}, near_);
        sum += {v.x, image.y * v.y, image.z * v.z};
    }
    return sum;
}

PetscErrorCode PotentialFlow::assemble() {
    PetscFunctionBegin;
    const auto n = static_cast<PetscInt>(panels_.size());
    PetscInt begin = 0, end = 0, stride = 0;
    PetscScalar* values = nullptr;
    PetscCall(MatCreateDense(comm_, PETSC_DECIDE, PETSC_DECIDE, n, n, nullptr, matrix_.out()));
    PetscCall(MatGetOwnershipRange(matrix_, &begin, &end));
    PetscCall(MatDenseGetLDA(matrix_, &stride));
    PetscCall(MatDenseGetArrayWrite(matrix_, &values));
    const std::size_t n_pair = std::size_t(n) * std::size_t(end - begin);
    const bool is_stored = n_pair * sizeof(Vector3) <= max_stored_bytes;
    if (is_stored) stored_.reserve(n_pair);
    for (PetscInt column = 0; column < n; ++column)
        for (PetscInt row = begin; row < end; ++row) {
            const Vector3 v = induced(row, column);
            values[column * stride + row - begin] = dot(panels_[row].normal, v);
            if (is_stored) stored_.push_back(v);
        }
    PetscCall(MatDenseRestoreArrayWrite(matrix_, &values));
    PetscCall(MatAssemblyBegin(matrix_, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(matrix_, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/// Computes the sources for which the sum of their flow and the wind crosses no panel.
PetscErrorCode PotentialFlow::solve_sources() {
    PetscFunctionBegin;
    Owner<KSP, KSPDestroy> ksp;
    Owner<Vec, VecDestroy> rhs;
    PetscInt begin = 0, end = 0;
    PetscScalar* values = nullptr;
    PC pc = nullptr;
    PetscCall(MatCreateVecs(matrix_, sources_.out(), rhs.out()));
    PetscCall(MatGetOwnershipRange(matrix_, &begin, &end));
    PetscCall(VecGetArrayWrite(rhs, &values));
    for (PetscInt row = begin; row < end; ++row)
        values[row - begin] = -dot(panels_[row].normal, wind);
    PetscCall(VecRestoreArrayWrite(rhs, &values));
    PetscCall(KSPCreate(comm_, ksp.out()));
    PetscCall(KSPSetOperators(ksp, matrix_, matrix_));
    PetscCall(KSPSetType(ksp, KSPGMRES));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCNONE));  // an integral equation of the second kind: few iterations
    PetscCall(KSPSetTolerances(ksp, 1e-10, 0, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, rhs, sources_));
    PetscCall(KSPGetIterationNumber(ksp, &n_iteration_));
    PetscFunctionReturn(0);
}

PetscErrorCode PotentialFlow::find_velocities() {
    PetscFunctionBegin;
    std::vector<double> source;
    PetscInt begin = 0, end = 0;
    const auto n = static_cast<PetscInt>(panels_.size());
    PetscCall(gather_to_all(sources_, &source));
    PetscCall(VecGetOwnershipRange(sources_, &begin, &end));
    std::vector<Vector3> velocity(panels_.size());
    for (PetscInt at = begin; at < end; ++at) velocity[at] = wind;
    auto next = stored_.begin();
    for (PetscInt by = 0; by < n; ++by)
        for (PetscInt at = begin; at < end; ++at)
            velocity[at] += source[by] * (stored_.empty() ? induced(at, by) : *next++);
    // Each is zero except on one rank, so that the sum is exact.
    PetscCallMPI(
        MPI_Allreduce(MPI_IN_PLACE, velocity.data(), 3 * int(n), MPI_DOUBLE, MPI_SUM, comm_));
    spread_to_corners(velocity);
    PetscFunctionReturn(0);
}

/// Returns, at each corner, on both halves of the body, the mean over the panels around it.
std::vector<Vector3> PotentialFlow::corner_means(const std::vector<Vector3>& velocity) const {
    std::vector<Vector3> mean(static_cast<std::size_t>(grid_.n_point()));
    std::vector<int> n_panel(mean.size(), 0);
    const auto add = [&](int64_t point, const Vector3& v) {
        mean[point] += v;
        ++n_panel[point];
    };
    for (std::size_t p = 0; p < panels_.size(); ++p)
        for (const int64_t corner : grid_.corners(cells_[p])) {
            const Vector3& v = velocity[p];
            add(corner, v);
            if (!is_half_) continue;
            const auto [i, j, k] = grid_.point(corner);
            add(grid_.number({i, grid_.n()[1] - j, k}), {v.x, -v.y, v.z});
        }
    for (std::size_t p = 0; p < mean.size(); ++p) mean[p] = 1.0 / n_panel[p] * mean[p];
    return mean;
}

/// Spreads velocities to corners. Means reduce the variation between panels: the difference of a
/// panel's velocity from the mean of its corners is therefore spread once more, which leaves an
/// error of fourth order.
void PotentialFlow::spread_to_corners(const std::vector<Vector3>& velocity) {
    corner_velocity_ = corner_means(velocity);
    std::vector<Vector3> rest = velocity;
    for (std::size_t p = 0; p < panels_.size(); ++p)
        for (const int64_t corner : grid_.corners(cells_[p]))
            rest[p] += -0.25 * corner_velocity_[corner];
    const std::vector<Vector3> more = corner_means(rest);
    for (std::size_t p = 0; p < more.size(); ++p) corner_velocity_[p] += more[p];
}

Vector3 PotentialFlow::velocity_at(const BoxGrid& fine, const BoxGrid::Index& index,
                                   const Vector3& normal) const {
    const Stencil stencil = interpolate(grid_, fine, index);
    Vector3 v;
    for (int c = 0; c < 4; ++c) v += stencil.weight[c] * corner_velocity_[stencil.point[c]];
    return v - dot(v, normal) * normal;
}

}  // namespace airflow
