# SPDX-License-Identifier: Apache-2.0
# Component timeloop of find_package(surrogate): surrogate::timeloop. HDF5 and MPI are not needed to compile.
if(NOT TARGET surrogate::timeloop)
    include("${CMAKE_CURRENT_LIST_DIR}/surrogate-timeloopTargets.cmake")
endif()
