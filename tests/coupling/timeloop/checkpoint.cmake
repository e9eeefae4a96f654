# SPDX-License-Identifier: Apache-2.0
# Checkpoints, by what the library hides; through surrogate_timeloop.h they are tested with the loop.
set(checkpoint_objects LINK surrogate_checkpoint surrogate_internal)
surrogate_add_mpi_test(checkpoint_test RANKS 1 2 3 SOURCES checkpoint_test.cpp ${checkpoint_objects})
surrogate_add_mpi_test(checkpoint_refusals_test RANKS 1 2 SOURCES checkpoint_refusals_test.cpp ${checkpoint_objects})
