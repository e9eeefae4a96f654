// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscvec.h>
#include <surrogate/surrogate.h>

#include <cstdint>
#include <string_view>

namespace surrogate::petsc {

/// Memory space of a Vec's array.
enum class VecPlace {
    host,       ///< in host memory: PETSc copies newer values from a device, and -log_view shows it
    as_it_lies  ///< in the current memory space: no copy
};

/// Returns the memory space: plans with backend cuda use host and device memory, other plans host
/// memory only.
constexpr VecPlace place_for(std::string_view backend) {
    return backend == "cuda" ? VecPlace::as_it_lies : VecPlace::host;
}

inline constexpr int32_t no_space = -1;

/// Returns the space of surrogate_array for a memory type, or no_space for HIP and SYCL, which have
/// none.
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
