# SPDX-License-Identifier: Apache-2.0
# Checkpoints, as objects of the time loop and of the tests of what it hides.
add_library(surrogate_checkpoint OBJECT checkpoint_save.cpp checkpoint_restore.cpp checkpoint_state.cpp checkpoint_points.cpp
    checkpoint_layout.cpp checkpoint_read_content.cpp checkpoint_differences.cpp checkpoint_seal.cpp)
target_include_directories(surrogate_checkpoint PUBLIC include)
target_include_directories(surrogate_checkpoint SYSTEM PRIVATE ${SURROGATE_XXHASH_INCLUDE})
target_link_libraries(surrogate_checkpoint PUBLIC surrogate_hdf5 surrogate_file)
set_target_properties(surrogate_checkpoint PROPERTIES POSITION_INDEPENDENT_CODE ON)
surrogate_compile_together(surrogate_checkpoint)
