// SPDX-License-Identifier: Apache-2.0
#include <petscksp.h>
#include <petscsnes.h>
#include <surrogate/surrogate_petsc.h>

#include <cstddef>

#include "coupling/petsc/predictor/ksp_guess.hpp"
#include "coupling/petsc/predictor/snes.hpp"

namespace {

/// Returns the size of a type of the running PETSc, 0 if PETSc does not have the name.
PetscErrorCode size_of(const char* name, std::size_t* n_byte) {
    PetscFunctionBegin;
    PetscDataType type = PETSC_DATATYPE_UNKNOWN;
    PetscBool is_known = PETSC_FALSE;
    *n_byte = 0;
    PetscCall(PetscDataTypeFromString(name, &type, &is_known));
    if (is_known) PetscCall(PetscDataTypeGetSize(type, n_byte));
    PetscFunctionReturn(0);
}

/// Compares the types of the running PETSc with the types of the PETSc at build time. Packages of
/// one version can differ in them although their libraries have the same functions. Must be called
/// before all calls that pass a PetscInt, PetscReal or PetscScalar.
PetscErrorCode check_types() {
    PetscFunctionBegin;
    std::size_t scalar = 0, real = 0, integer = 0;
    PetscCall(size_of("scalar", &scalar));
    PetscCall(size_of("real", &real));
    PetscCall(size_of("int", &integer));
    PetscCheck(
        scalar == sizeof(PetscScalar) && real == sizeof(PetscReal) && integer == sizeof(PetscInt),
        PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
        "libsurrogate_petsc was built with scalars of %zu, reals of %zu and integers of %zu "
        "bytes, this program's PETSc has %s%zu, %zu and %zu; build libsurrogate with the "
        "PETSc of the program (real scalars, 32-bit integers)",
        sizeof(PetscScalar), sizeof(PetscReal), sizeof(PetscInt),
        scalar == 2 * real ? "complex scalars: " : "", scalar, real, integer);
    PetscFunctionReturn(0);
}

/// Compares versions, because the solver types use structs of PETSc that any minor version may
/// change.
PetscErrorCode check_version() {
    PetscFunctionBegin;
    PetscInt major = 0, minor = 0;
    PetscCall(PetscGetVersionNumber(&major, &minor, nullptr, nullptr));
    PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF,
               PETSC_ERR_ARG_INCOMP,
               "libsurrogate_petsc was built with PETSc %d.%d, this program runs %" PetscInt_FMT
               ".%" PetscInt_FMT "; build libsurrogate with the PETSc of the program",
               PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, major, minor);
    PetscFunctionReturn(0);
}

}  // namespace

extern "C" PetscErrorCode surrogate_petsc_register(void) {
    PetscFunctionBegin;
    PetscCall(check_types());
    PetscCall(check_version());
    PetscCall(KSPGuessRegister("surrogate", surrogate::petsc::create_ksp_guess));
    PetscCall(SNESRegister("surrogate", surrogate::petsc::create_snes));
    PetscFunctionReturn(0);
}
