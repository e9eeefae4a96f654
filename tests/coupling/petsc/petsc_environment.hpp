// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <petscsys.h>

#include <string>

namespace surrogate::test {

/// PETSc between the first and the last test of a program whose main() looks after MPI.
class PetscEnvironment : public testing::Environment {
public:
    void SetUp() override {
        ASSERT_EQ(PetscInitializeNoArguments(), 0);
        ASSERT_EQ(PetscPopSignalHandler(), 0);
        // Errors come back as codes; nothing is printed, so that a test that provokes one stays
        // quiet.
        ASSERT_EQ(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr), 0);
    }
    void TearDown() override {
        ASSERT_EQ(PetscPopErrorHandler(), 0);
        ASSERT_EQ(PetscFinalize(), 0);
    }
};

/// The text of this rank's last PETSc error.
inline std::string petsc_text(PetscErrorCode error) {
    const char* kind = nullptr;
    char* text = nullptr;
    return PetscErrorMessage(error, &kind, &text) == 0 && text ? text : "";
}

}  // namespace surrogate::test

/// A PETSc call that must succeed.
#define PETSC_OK(...)                                                            \
    do {                                                                         \
        const PetscErrorCode petsc_code_ = (__VA_ARGS__);                        \
        ASSERT_EQ(petsc_code_, 0) << ::surrogate::test::petsc_text(petsc_code_); \
    } while (0)
