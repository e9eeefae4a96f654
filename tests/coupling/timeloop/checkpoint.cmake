# SPDX-License-Identifier: Apache-2.0
# Checkpoints, by what the library hides; through surrogate_timeloop.h they are tested with the loop.
set(checkpoint_objects LINK surrogate_checkpoint surrogate_internal)
surrogate_add_mpi_test(checkpoint_test RANKS 1 2 3 SOURCES checkpoint_test.cpp ${checkpoint_objects})
surrogate_add_mpi_test(checkpoint_refusals_test RANKS 1 2 SOURCES checkpoint_refusals_test.cpp ${checkpoint_objects})
# These replace calls of the system, of HDF5 and of MPI in the whole program.
surrogate_add_mpi_test(checkpoint_faults_test RANKS 1 2 3 SOURCES checkpoint_faults_test.cpp interposed_calls.cpp
    ${checkpoint_objects} surrogate_failing_allocations ${CMAKE_DL_LIBS})
surrogate_add_mpi_test(checkpoint_kill_test RANKS 1 SOURCES checkpoint_kill_test.cpp interposed_calls.cpp
    ${checkpoint_objects} ${CMAKE_DL_LIBS})
