# SPDX-License-Identifier: Apache-2.0
if(TARGET surrogate_checkpoint AND SURROGATE_HAVE_MPI)
    add_executable(checkpoint_bench checkpoint_bench.cpp)
    target_link_libraries(checkpoint_bench PRIVATE surrogate_flags surrogate_checkpoint surrogate MPI::MPI_C)
    target_include_directories(checkpoint_bench PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_definitions(checkpoint_bench PRIVATE SURROGATE_SHARE="${PROJECT_SOURCE_DIR}/share")
endif()
