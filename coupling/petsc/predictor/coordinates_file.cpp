// SPDX-License-Identifier: Apache-2.0
#include "coordinates_file.hpp"

#include <petscviewer.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>

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

/// The header of a binary file, and its size.
struct Header {
    int64_t n_byte = -1;  ///< -1: the file cannot be read
    int64_t kind = 0;     ///< VEC_FILE_CLASSID for a Vec
    int64_t length = 0;   ///< values of the Vec
};

/// Reads a 32-bit integer in PETSc's byte order (big endian).
int32_t read_integer(std::istream& file) {
    std::array<unsigned char, 4> bytes{};
    file.read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
    uint32_t value = 0;
    for (const unsigned char byte : bytes) value = value << 8 | byte;
    return static_cast<int32_t>(value);
}

Header header_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return {};
    const int64_t n_byte = file.tellg();
    file.seekg(0);
    const int64_t kind = read_integer(file);
    return {n_byte, kind, read_integer(file)};
}

/// Reads the header on rank 0 and checks it on all ranks. PETSc would raise an error only on the
/// reading rank, and the other ranks would block.
PetscErrorCode check_file(MPI_Comm comm, const std::string& path, const std::string& flag,
                          PetscInt* length) {
    PetscFunctionBegin;
    PetscMPIInt rank = 0;
    std::array<int64_t, 3> found{};
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    if (rank == 0) {
        const Header header = header_of(path);
        found = {header.n_byte, header.kind, header.length};
    }
    PetscCallMPI(MPI_Bcast(found.data(), int(found.size()), MPI_INT64_T, 0, comm));
    const Header header{found[0], found[1], found[2]};
    PetscCheck(header.n_byte >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN,
               "%s: cannot read the file '%s'", flag.c_str(), path.c_str());
    PetscCheck(header.kind == VEC_FILE_CLASSID && header.length >= 0, PETSC_COMM_SELF,
               PETSC_ERR_FILE_UNEXPECTED,
               "%s: '%s' does not begin with a Vec, expected a binary file of VecView",
               flag.c_str(), path.c_str());
    const int64_t needed = 8 + header.length * int64_t{sizeof(PetscScalar)};
    PetscCheck(header.n_byte >= needed, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
               "%s: '%s' has %lld bytes, expected %lld for a Vec of %lld values; is it truncated?",
               flag.c_str(), path.c_str(), static_cast<long long>(header.n_byte),
               static_cast<long long>(needed), static_cast<long long>(header.length));
    *length = PetscInt(header.length);
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode read_coordinates(const std::string& path, const std::string& flag, Vec solution,
                                Vec* coordinates) {
    PetscFunctionBegin;
    MPI_Comm const comm = PetscObjectComm(reinterpret_cast<PetscObject>(solution));
    PetscInt n_component = 0, n_local = 0, n_global = 0;
    PetscCall(VecGetBlockSize(solution, &n_component));
    PetscCall(VecGetLocalSize(solution, &n_local));
    PetscCall(VecGetSize(solution, &n_global));
    const PetscInt n_point = n_global / n_component;
    PetscInt length = 0;
    PetscCall(check_file(comm, path, flag, &length));
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
