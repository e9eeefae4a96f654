// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

namespace darcy {

namespace {

using OwnedScatter = Owner<VecScatter, VecScatterDestroy>;

constexpr int32_t dtype = sizeof(PetscScalar) == 8 ? SURROGATE_FLOAT64 : SURROGATE_FLOAT32;

PetscErrorCode check(surrogate_status status) {
    PetscFunctionBegin;
    PetscCheck(status == SURROGATE_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "%s",
               surrogate_vtk_error());
    PetscFunctionReturn(0);
}

/// Returns a cell field of the image; the vector owns the array.
surrogate_series_field field(const char* name, const char* unit, const PetscScalar* data,
                             PetscInt n) {
    surrogate_series_field f{};
    f.name = name;
    f.unit = unit;
    f.location = SURROGATE_CELL;
    f.array = {const_cast<PetscScalar*>(data), {n, 1}, {1, 1}, dtype, SURROGATE_HOST};
    return f;
}

/// Gathers the whole vector on rank 0, x fastest; empty on other ranks.
PetscErrorCode gather(const Grid& grid, Vec vec, std::vector<PetscScalar>* values) {
    PetscFunctionBegin;
    OwnedVec natural, whole;
    OwnedScatter scatter;
    PetscCall(DMDACreateNaturalVector(grid.da, natural.out()));
    PetscCall(DMDAGlobalToNaturalBegin(grid.da, vec, INSERT_VALUES, natural));
    PetscCall(DMDAGlobalToNaturalEnd(grid.da, vec, INSERT_VALUES, natural));
    PetscCall(VecScatterCreateToZero(natural, scatter.out(), whole.out()));
    PetscCall(VecScatterBegin(scatter, natural, whole, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, natural, whole, INSERT_VALUES, SCATTER_FORWARD));
    PetscInt n = 0;
    const PetscScalar* data = nullptr;
    PetscCall(VecGetLocalSize(whole, &n));
    PetscCall(VecGetArrayRead(whole, &data));
    values->assign(data, data + n);
    PetscCall(VecRestoreArrayRead(whole, &data));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode Output::create(const Grid& grid, const std::string& directory,
                              const std::string& name) {
    PetscFunctionBegin;
    grid_ = &grid;
    Box box;
    PetscCall(box.of(grid));
    const auto n = static_cast<int32_t>(grid.n);
    image_ = {{0, n, 0, n, 0, 0},
              {int32_t(box.i0), int32_t(box.i1), int32_t(box.j0), int32_t(box.j1), 0, 0},
              {0, 0, 0},
              {grid.h, grid.h, grid.h}};
    PetscMPIInt rank = 0, size = 0;
    PetscCallMPI(MPI_Comm_rank(grid.comm(), &rank));
    PetscCallMPI(MPI_Comm_size(grid.comm(), &size));
    const std::string path = directory + "/" + name + ".pvd";
    PetscCall(check(surrogate_series_create(path.c_str(), rank, size, &series_)));
    PetscFunctionReturn(0);
}

PetscErrorCode Output::write(PetscReal time_s, Vec c, Vec mobility, Vec pressure) {
    PetscFunctionBegin;
    const Vec vecs[] = {c, mobility, pressure};
    const PetscScalar* data[] = {nullptr, nullptr, nullptr};
    PetscInt n = 0;
    PetscCall(VecGetLocalSize(c, &n));
    for (int f = 0; f < 3; ++f) PetscCall(VecGetArrayRead(vecs[f], &data[f]));
    const surrogate_series_field fields[] = {field("concentration", "1", data[0], n),
                                             field("mobility", "m^2/(Pa s)", data[1], n),
                                             field("pressure", "Pa", data[2], n)};
    surrogate_piece mine;
    const surrogate_status status =
        surrogate_series_write_image(series_, time_s, &image_, 3, fields, &mine);
    for (int f = 0; f < 3; ++f) PetscCall(VecRestoreArrayRead(vecs[f], &data[f]));
    PetscCall(publish(mine));
    PetscCall(check(status));
    PetscFunctionReturn(0);
}

/// Adds the step to the series on rank 0 after all pieces are written.
PetscErrorCode Output::publish(const surrogate_piece& mine) {
    PetscFunctionBegin;
    PetscMPIInt rank = 0, size = 0;
    PetscCallMPI(MPI_Comm_rank(grid_->comm(), &rank));
    PetscCallMPI(MPI_Comm_size(grid_->comm(), &size));
    std::vector<surrogate_piece> all(rank == 0 ? static_cast<std::size_t>(size) : 0);
    PetscCallMPI(MPI_Gather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, 0,
                            grid_->comm()));
    if (rank == 0) PetscCall(check(surrogate_series_publish(series_, size, all.data())));
    PetscFunctionReturn(0);
}

PetscErrorCode write_picture(const Grid& grid, const std::string& path, const std::string& heading,
                             const std::vector<Panel>& panels) {
    PetscFunctionBegin;
    std::vector<std::vector<PetscScalar>> values(panels.size());
    for (std::size_t k = 0; k < panels.size(); ++k)
        PetscCall(gather(grid, panels[k].vec, &values[k]));
    if (values[0].empty()) PetscFunctionReturn(0);  // not rank 0
    const double side_m = double(grid.h) * double(grid.n);
    std::vector<surrogate_png_panel> drawn;
    std::vector<surrogate_png_label> labels;
    for (std::size_t k = 0; k < panels.size(); ++k) {
        const Panel& panel = panels[k];
        drawn.push_back(
            {{values[k].data(), {grid.n, grid.n}, {1, grid.n}, dtype, SURROGATE_HOST},
             panel.min,
             panel.max,
             panel.is_difference ? SURROGATE_COLOR_DIVERGING : SURROGATE_COLOR_SEQUENTIAL});
        surrogate_png_label label{};
        label.title = panel.title;
        label.quantity = panel.quantity;
        label.unit = panel.unit;
        label.frame = SURROGATE_FRAME_AXES;
        label.x = {"x", "m", 0, side_m};
        label.y = {"y", "m", 0, side_m};
        labels.push_back(label);
    }
    PetscCall(check(surrogate_png_write_labeled(
        path.c_str(), heading.c_str(), int32_t(drawn.size()), drawn.data(), labels.data())));
    PetscFunctionReturn(0);
}

}  // namespace darcy
