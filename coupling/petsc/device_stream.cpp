// SPDX-License-Identifier: Apache-2.0
#include "device_stream.hpp"

#include <petscdevice.h>
#include <surrogate/surrogate_petsc.h>

#if defined(PETSC_HAVE_CUDA) && PETSC_VERSION_GE(3, 20, 0)
#define SURROGATE_PETSC_SHOWS_STREAM
#endif

namespace surrogate::petsc {

PetscErrorCode follow_petsc([[maybe_unused]] surrogate_plan* plan) {
    PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
    PetscDeviceContext device = nullptr;  // borrowed
    PetscCall(PetscDeviceContextGetCurrentContext(&device));
#if defined(SURROGATE_PETSC_SHOWS_STREAM)
    void* stream = nullptr;  // cudaStream_t*
    PetscCall(PetscDeviceContextGetStreamHandle(device, &stream));
    PetscCallSurrogate(surrogate_plan_set_stream(plan, *static_cast<void**>(stream)));
#else
    PetscCall(PetscDeviceContextSynchronize(device));
#endif
#endif
    PetscFunctionReturn(0);
}

PetscErrorCode let_petsc_follow([[maybe_unused]] surrogate_plan* plan) {
    PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA) && !defined(SURROGATE_PETSC_SHOWS_STREAM)
    PetscCallSurrogate(surrogate_plan_wait(plan));
#endif
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
