// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <filesystem>

namespace million {

PetscErrorCode Output::create(MPI_Comm comm, const std::string& directory) {
    PetscFunctionBegin;
    comm_ = comm;
    PetscMPIInt rank = 0, size = 0;
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCallMPI(MPI_Comm_size(comm, &size));
    std::error_code error;
    if (rank == 0) std::filesystem::create_directories(directory, error);
    int failed = error ? 1 : 0;
    PetscCallMPI(MPI_Bcast(&failed, 1, MPI_INT, 0, comm));
    PetscCheck(!failed, comm, PETSC_ERR_FILE_OPEN, "-output %s: cannot create the directory",
               directory.c_str());
    series_.emplace(directory + "/parts.pvd", rank, size);
    PetscFunctionReturn(0);
}

PetscErrorCode Output::write(int number, const Mesh& mesh, const std::vector<NamedField>& fields) {
    PetscFunctionBegin;
    PetscMPIInt rank = 0, size = 0;
    PetscCallMPI(MPI_Comm_rank(comm_, &rank));
    PetscCallMPI(MPI_Comm_size(comm_, &size));
    const int64_t n_point = mesh.n_local(), n_cell = mesh.n_cell();
    std::vector<std::vector<PetscScalar>> values(fields.size());
    std::vector<surrogate_series_field> named;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        PetscCall(mesh.local_values(fields[f].field, &values[f]));
        named.push_back(surrogate::point_field(fields[f].name,
                                               surrogate::column(values[f].data(), n_point), "K"));
    }
    named.push_back(surrogate::point_field(
        "distance", surrogate::column(mesh.distance().data(), n_point), "m"));
    named.push_back(
        surrogate::point_field("GlobalPointIds", surrogate::column(mesh.id().data(), n_point)));
    const std::vector<int32_t> part(std::size_t(n_cell), rank);
    named.push_back(surrogate::cell_field("part", surrogate::column(part.data(), n_cell)));
    std::vector<int64_t> offsets(std::size_t(n_cell) + 1);
    for (int64_t c = 0; c <= n_cell; ++c) offsets[std::size_t(c)] = 3 * c;
    const std::vector<uint8_t> types(std::size_t(n_cell), 5);  // VTK's triangle
    const std::vector<int64_t> corners(mesh.corners().begin(), mesh.corners().end());
    const double none[2] = {};  // for a rank without points
    const double* const x = mesh.coordinates().empty() ? none : &mesh.coordinates().data()->x;
    const auto cells = surrogate::cells(surrogate::matrix(x, n_point, 2), offsets, corners, types);
    const surrogate_piece mine = series_->write(number, cells, named);
    std::vector<surrogate_piece> all(rank == 0 ? std::size_t(size) : 0);
    PetscCallMPI(
        MPI_Gather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, 0, comm_));
    if (rank == 0) series_->publish(all);
    PetscFunctionReturn(0);
}

}  // namespace million
