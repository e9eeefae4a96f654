// SPDX-License-Identifier: Apache-2.0
// Vecs whose memory is a device's: where their arrays are taken, for every kind of memory and
// backend.
#include <string>

#include "coupling/petsc/vec_arrays.hpp"
#include "coupling/petsc/vec_place.hpp"
#include "tests/coupling/petsc/petsc_planned.hpp"
#include "tests/coupling/petsc/petsc_pretend.hpp"

namespace {

using namespace surrogate::test;
using surrogate::petsc::name_of;
using surrogate::petsc::no_space;
using surrogate::petsc::place_for;
using surrogate::petsc::space_of;
using surrogate::petsc::VecArray;
using surrogate::petsc::VecPlace;

TEST(PetscPlace, OfArraysIsTheHostUnlessThePlanIsOnADevice) {
    EXPECT_EQ(place_for("simd"), VecPlace::host);
    EXPECT_EQ(place_for("ref"), VecPlace::host);
    EXPECT_EQ(place_for("cuda"), VecPlace::as_it_lies);
}

TEST(PetscPlace, OfMemoryIsHostCudaOrNone) {
    EXPECT_EQ(space_of(PETSC_MEMTYPE_HOST), SURROGATE_HOST);
    EXPECT_EQ(space_of(PETSC_MEMTYPE_CUDA), SURROGATE_CUDA);
    EXPECT_EQ(space_of(PETSC_MEMTYPE_NVSHMEM), SURROGATE_CUDA);
    EXPECT_EQ(space_of(PETSC_MEMTYPE_HIP), no_space);
    EXPECT_EQ(space_of(PETSC_MEMTYPE_SYCL), no_space);
    EXPECT_STREQ(name_of(PETSC_MEMTYPE_HIP), "HIP");
    EXPECT_STREQ(name_of(PETSC_MEMTYPE_SYCL), "SYCL");
}

class PetscArray : public testing::TestWithParam<PetscMemType> {
protected:
    void SetUp() override {
        PETSC_OK(VecCreateMPI(PETSC_COMM_WORLD, 5, PETSC_DETERMINE, &vec_));
        PETSC_OK(VecSet(vec_, 3));
        pretend(vec_, GetParam());
    }
    void TearDown() override { PETSC_OK(VecDestroy(&vec_)); }
    Vec vec_ = nullptr;
};

TEST_P(PetscArray, IsTakenWhereItLiesAndGivenBack) {
    using enum VecArray::Access;
    for (const VecArray::Access access : {read, write, read_write}) {
        PetscObjectState before = 0, after = 0;
        PETSC_OK(PetscObjectStateGet(reinterpret_cast<PetscObject>(vec_), &before));
        {
            VecArray array;
            PETSC_OK(array.open(vec_, access, VecPlace::as_it_lies));
            EXPECT_EQ(array.memory(), GetParam());
            ASSERT_NE(array.data(), nullptr);
        }
        PETSC_OK(PetscObjectStateGet(reinterpret_cast<PetscObject>(vec_), &after));
        EXPECT_EQ(after > before, access != read) << "PETSc learns of changes by this";
    }
    EXPECT_EQ(pretended.n_asked, 3);
    EXPECT_EQ(pretended.n_given_back, 3);
}

TEST_P(PetscArray, IsTakenOnTheHostWithoutAskingWhereItLies) {
    using enum VecArray::Access;
    for (const VecArray::Access access : {read, write, read_write}) {
        VecArray array;
        PETSC_OK(array.open(vec_, access, VecPlace::host));
        EXPECT_EQ(array.memory(), PETSC_MEMTYPE_HOST);
        EXPECT_EQ(array.data()[4], 3);
        PETSC_OK(array.close());
    }
    EXPECT_EQ(pretended.n_asked, 0);
}

INSTANTIATE_TEST_SUITE_P(Memory, PetscArray,
                         testing::Values(PETSC_MEMTYPE_HOST, PETSC_MEMTYPE_CUDA, PETSC_MEMTYPE_HIP),
                         [](const auto& memory) { return std::string(name_of(memory.param)); });

TEST(PetscDevicePlan, OnTheHostTakesVecsOfAnyMemory) {
    Planned planned;
    const std::vector<PetscScalar> expected = planned.predict();
    for (const PetscMemType memory : {PETSC_MEMTYPE_CUDA, PETSC_MEMTYPE_HIP}) {
        pretend(planned.in, memory);
        pretend(planned.out, memory);
        PETSC_OK(VecSet(planned.out, untouched));
        EXPECT_EQ(planned.predict(), expected);
        EXPECT_EQ(pretended.n_asked, 0);
    }
}

// With a device this is a plan like any other; without one all ranks get the error why.
TEST(PetscDevicePlan, OnADeviceNeedsOne) {
    PetscOptions own = nullptr;
    PETSC_OK(PetscOptionsCreate(&own));
    PETSC_OK(PetscOptionsPush(own));
    PETSC_OK(PetscOptionsInsertString(
        nullptr, "-surrogate_backend cuda -surrogate_device auto -surrogate_timeout_s 60"));
    surrogate_context* context = nullptr;
    const PetscErrorCode error =
        surrogate_context_create_petsc(PETSC_COMM_WORLD, nullptr, &context);
    if (error) {
        EXPECT_EQ(error, PETSC_ERR_SUP) << petsc_text(error);
        EXPECT_NE(petsc_text(error).find("device"), std::string::npos) << petsc_text(error);
        EXPECT_EQ(context, nullptr);
    }
    surrogate_context_destroy(&context);
    PETSC_OK(PetscOptionsPop());
    PETSC_OK(PetscOptionsDestroy(&own));
}

TEST(PetscDevicePlan, HasItsOwnErrorCode) {
    EXPECT_EQ(surrogate_petsc_error_code(SURROGATE_DEVICE), PETSC_ERR_GPU);
    EXPECT_EQ(surrogate_petsc_error_code(SURROGATE_OUT_OF_RANGE), PETSC_ERR_ARG_OUTOFRANGE);
}

}  // namespace
