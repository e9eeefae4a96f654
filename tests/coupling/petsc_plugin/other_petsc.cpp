// SPDX-License-Identifier: Apache-2.0
// A program whose PETSc says that it is another one: these definitions stand before PETSc's own.
//   other_petsc version|complex|int64
#include <petscsys.h>
#include <surrogate/surrogate_petsc.h>

#include <cstdio>
#include <cstring>

#define EXPORTED __attribute__((visibility("default")))

namespace {

const char* kind = "";

bool is_kind(const char* text) {
    return std::strcmp(kind, text) == 0;
}

}  // namespace

/// Returns types that are named in the real PETSc too, so that only their sizes differ.
extern "C" EXPORTED PetscErrorCode PetscDataTypeFromString(const char* name, PetscDataType* type,
                                                           PetscBool* is_known) {
    const bool is_integer = std::strcmp(name, "int") == 0;
    const bool is_complex = std::strcmp(name, "scalar") == 0 && is_kind("complex");
    *type = is_integer   ? (is_kind("int64") ? PETSC_INT64 : PETSC_INT)
            : is_complex ? PETSC_COMPLEX
                         : PETSC_REAL;
    *is_known = PETSC_TRUE;
    return 0;
}

/// Writes as many bytes as the PETSc that it pretends to be: a caller with smaller integers loses
/// what lies behind them.
extern "C" EXPORTED PetscErrorCode PetscGetVersionNumber(PetscInt* major, PetscInt* minor,
                                                         PetscInt* subminor, PetscInt* release) {
    if (is_kind("int64")) std::puts("asked for the version in integers of another size");
    if (major) *major = PETSC_VERSION_MAJOR;
    if (minor) *minor = is_kind("version") ? 99 : PETSC_VERSION_MINOR;
    if (subminor) *subminor = 0;
    if (release) *release = 1;
    return 0;
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    kind = argv[1];
    if (PetscInitialize(&argc, &argv, nullptr, nullptr)) return 2;
    if (PetscPushErrorHandler(PetscReturnErrorHandler, nullptr)) return 2;
    const PetscErrorCode error = surrogate_petsc_register();
    char* text = nullptr;
    if (error && PetscErrorMessage(error, nullptr, &text) == 0 && text) std::puts(text);
    if (PetscPopErrorHandler() || PetscFinalize()) return 2;
    return error == PETSC_ERR_ARG_INCOMP ? 0 : 1;
}
