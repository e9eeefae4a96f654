# SPDX-License-Identifier: Apache-2.0
# Component dataset of find_package(surrogate): surrogate::dataset. HDF5 and MPI are not needed to compile.
if(NOT TARGET surrogate::dataset)
    include("${CMAKE_CURRENT_LIST_DIR}/surrogate-datasetTargets.cmake")
endif()
