// SPDX-License-Identifier: Apache-2.0
#include "samples.hpp"

#include <cstdio>

namespace airflow {

namespace {

constexpr int n_column = 7;

/// Returns the header of a .npy file of version 1.0, a multiple of 64 bytes.
std::string npy_head(int64_t n_row) {
    std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(n_row) + ", " + std::to_string(n_column) + "), }";
    constexpr std::size_t before = 10;  // magic, version, length of the text
    text.append(63 - (before + text.size()) % 64, ' ');
    text += '\n';
    const auto n = static_cast<unsigned>(text.size());
    return std::string("\x93NUMPY\x01\x00", 8) + char(n & 255) + char(n >> 8) + text;
}

bool write_file(const std::string& path, const std::vector<float>& rows) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (!file) return false;
    const std::string head = npy_head(int64_t(rows.size()) / n_column);
    bool is_written = std::fwrite(head.data(), 1, head.size(), file) == head.size();
    is_written &= std::fwrite(rows.data(), sizeof(float), rows.size(), file) == rows.size();
    return std::fclose(file) == 0 && is_written;
}

/// Returns the rows of this rank's points.
PetscErrorCode local_rows(const Surface& surface, Vec pressure, std::vector<float>* rows) {
    PetscFunctionBegin;
    const PetscScalar* value = nullptr;
    PetscCall(VecGetArrayRead(pressure, &value));
    for (int64_t p = 0; p < surface.n_owned(); ++p) {
        const Vector3 &x = surface.place()[p], &n = surface.normal()[p];
        for (const double number : {x.x, x.y, x.z, n.x, n.y, n.z, double(value[p])})
            rows->push_back(float(number));
    }
    PetscCall(VecRestoreArrayRead(pressure, &value));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode write_sample(const std::string& path, const Surface& surface, Vec pressure) {
    PetscFunctionBegin;
    PetscMPIInt rank = 0, size = 0;
    PetscCallMPI(MPI_Comm_rank(surface.comm(), &rank));
    PetscCallMPI(MPI_Comm_size(surface.comm(), &size));
    std::vector<float> mine, all;
    PetscCall(local_rows(surface, pressure, &mine));
    const int n = int(mine.size());
    std::vector<int> counts(static_cast<std::size_t>(size)), first(counts.size(), 0);
    PetscCallMPI(MPI_Gather(&n, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, surface.comm()));
    for (std::size_t r = 1; r < first.size(); ++r) first[r] = first[r - 1] + counts[r - 1];
    if (rank == 0) all.resize(std::size_t(first.back() + counts.back()));
    PetscCallMPI(MPI_Gatherv(mine.data(), n, MPI_FLOAT, all.data(), counts.data(), first.data(),
                             MPI_FLOAT, 0, surface.comm()));
    int is_written = rank != 0 || write_file(path, all);
    PetscCallMPI(MPI_Bcast(&is_written, 1, MPI_INT, 0, surface.comm()));
    PetscCheck(is_written, surface.comm(), PETSC_ERR_FILE_WRITE, "%s cannot be written",
               path.c_str());
    PetscFunctionReturn(0);
}

}  // namespace airflow
