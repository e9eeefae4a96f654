# SPDX-License-Identifier: Apache-2.0
# Finds an MPI that is MPICH by its header.
set(MPI_FOUND TRUE)
set(MPI_CXX_FOUND TRUE)
set(MPI_CXX_INCLUDE_DIRS ${CMAKE_CURRENT_LIST_DIR})
