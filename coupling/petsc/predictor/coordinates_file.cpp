// SPDX-License-Identifier: Apache-2.0
#include "coordinates_file.hpp"

#include <petscviewer.h>

#include <array>

namespace surrogate::petsc {

namespace {

constexpr PetscInt max_axis = 8;

/// Owns a viewer of a binary file that is read without its .info file.
class BinaryFile {
public:
    BinaryFile() = default;
    ~BinaryFile() { PetscViewerDestroy(&viewer_); }
    BinaryFile(const BinaryFile&) = delete;
    BinaryFile& operator=(const BinaryFile&) = delete;

    PetscErrorCode open(MPI_Comm comm, const std::string& path) {
        PetscFunctionBegin;
        PetscCall(PetscViewerCreate(comm, &viewer_));
        PetscCall(PetscViewerSetType(viewer_, PETSCVIEWERBINARY));
        PetscCall(PetscViewerBinarySetSkipInfo(viewer_, PETSC_TRUE));
        PetscCall(PetscViewerFileSetMode(viewer_, FILE_MODE_READ));
        PetscCall(PetscViewerFileSetName(viewer_, path.c_str()));
        PetscFunctionReturn(0);
    }
    PetscViewer get() const { return viewer_; }

private:
    PetscViewer viewer_ = nullptr;
};

/// Reads the class and the length from the header of a Vec.
PetscErrorCode read_header(MPI_Comm comm, const std::string& path, std::array<PetscInt, 2>* header,
                           PetscInt* n_read) {
    PetscFunctionBegin;
    BinaryFile file;
    PetscCall(file.open(comm, path));
    PetscCall(PetscViewerBinaryRead(file.get(), header->data(), PetscInt(header->size()), n_read,
                                    PETSC_INT));
    PetscFunctionReturn(0);
}

/// The rank that opens the file raises its errors alone; this one is the same on all ranks.
PetscErrorCode check_readable(MPI_Comm comm, const std::string& path, const std::string& flag) {
    PetscFunctionBegin;
    PetscMPIInt rank = 0;
    PetscBool is_readable = PETSC_FALSE;
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    if (rank == 0) PetscCall(PetscTestFile(path.c_str(), 'r', &is_readable));
    PetscCallMPI(MPI_Bcast(&is_readable, 1, MPIU_BOOL, 0, comm));
    PetscCheck(is_readable, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s: cannot read the file '%s'",
               flag.c_str(), path.c_str());
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode read_coordinates(const std::string& path, const std::string& flag, Vec solution,
                                Vec* coordinates) {
    PetscFunctionBegin;
    MPI_Comm const comm = PetscObjectComm(reinterpret_cast<PetscObject>(solution));
    PetscInt n_component = 0, n_local = 0, n_global = 0, n_read = 0;
    PetscCall(VecGetBlockSize(solution, &n_component));
    PetscCall(VecGetLocalSize(solution, &n_local));
    PetscCall(VecGetSize(solution, &n_global));
    const PetscInt n_point = n_global / n_component;
    PetscCall(check_readable(comm, path, flag));
    std::array<PetscInt, 2> header{};
    PetscCall(read_header(comm, path, &header, &n_read));
    const auto [kind, length] = header;
    PetscCheck(n_read == 2 && kind == VEC_FILE_CLASSID, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
               "%s: '%s' does not begin with a Vec, expected a binary file of VecView",
               flag.c_str(), path.c_str());
    const PetscInt n_axis = n_point > 0 ? length / n_point : 0;
    PetscCheck(n_axis >= 1 && n_axis <= max_axis && n_axis * n_point == length, PETSC_COMM_SELF,
               PETSC_ERR_FILE_UNEXPECTED,
               "%s: the Vec in '%s' has %" PetscInt_FMT " values, expected %" PetscInt_FMT
               " points times 1 to %" PetscInt_FMT " axes",
               flag.c_str(), path.c_str(), length, n_point, max_axis);
    BinaryFile file;
    PetscCall(file.open(comm, path));
    Vec made = nullptr;
    PetscCall(VecCreate(comm, &made));
    PetscErrorCode error = VecSetSizes(made, n_local / n_component * n_axis, length);
    if (!error) error = VecSetBlockSize(made, n_axis);
    if (!error) error = VecSetType(made, VECSTANDARD);
    if (!error) error = VecLoad(made, file.get());
    if (error) {
        PetscCall(VecDestroy(&made));
        PetscCall(error);
    }
    *coordinates = made;
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
