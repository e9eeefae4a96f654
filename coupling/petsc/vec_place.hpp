// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscvec.h>
#include <surrogate/surrogate.h>

#include <cstdint>
#include <string_view>

namespace surrogate::petsc {

/// Memory space of a Vec's array.
enum class VecPlace {
    host,       ///< on the host: PETSc copies what is newer on a device, and -log_view shows it
    as_it_lies  ///< where PETSc keeps it: no copy
};

/// Plans with backend cuda take host and device memory, others host memory only.
constexpr VecPlace place_for(std::string_view backend) {
    return backend == "cuda" ? VecPlace::as_it_lies : VecPlace::host;
}

inline constexpr int32_t no_space = -1;

/// The space of surrogate_array for a memory type, or no_space if there is none (HIP, SYCL).
constexpr int32_t space_of(PetscMemType memory) {
    if (PetscMemTypeHost(memory)) return SURROGATE_HOST;
    return PetscMemTypeCUDA(memory) ? static_cast<int32_t>(SURROGATE_CUDA) : no_space;
}

constexpr const char* name_of(PetscMemType memory) {
    return PetscMemTypeHost(memory)   ? "host"
           : PetscMemTypeCUDA(memory) ? "CUDA"
           : PetscMemTypeHIP(memory)  ? "HIP"
           : PetscMemTypeSYCL(memory) ? "SYCL"
                                      : "unknown device";
}

}  // namespace surrogate::petsc
