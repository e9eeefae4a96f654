# SPDX-License-Identifier: Apache-2.0
# Checkpoints, as objects of the time loop and of the tests of what it hides.
add_library(surrogate_checkpoint OBJECT checkpoint_save.cpp checkpoint_restore.cpp checkpoint_state.cpp checkpoint_points.cpp
    checkpoint_layout.cpp checkpoint_read_content.cpp checkpoint_differences.cpp checkpoint_seal.cpp checkpoint_disk.cpp
    hdf5_handle.cpp hdf5_storage.cpp)
target_include_directories(surrogate_checkpoint PUBLIC include $<TARGET_PROPERTY:surrogate,INTERFACE_INCLUDE_DIRECTORIES>)
target_include_directories(surrogate_checkpoint SYSTEM PUBLIC ${HDF5_C_INCLUDE_DIRS} PRIVATE ${SURROGATE_XXHASH_INCLUDE})
target_link_libraries(surrogate_checkpoint PUBLIC surrogate_flags)
target_link_libraries(surrogate_checkpoint PUBLIC surrogate_file ${HDF5_C_LIBRARIES})
set_target_properties(surrogate_checkpoint PROPERTIES POSITION_INDEPENDENT_CODE ON)
if(HDF5_IS_PARALLEL)
    # hdf5.h includes mpi.h; ranks write without HDF5, so that one without MPI does as well.
    target_link_libraries(surrogate_checkpoint PUBLIC MPI::MPI_C)
    target_compile_definitions(surrogate_checkpoint PUBLIC OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endif()
