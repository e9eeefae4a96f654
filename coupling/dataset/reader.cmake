# SPDX-License-Identifier: Apache-2.0
# Data sets for reading, as the program `surrogate` does. Not installed.
add_library(surrogate_dataset_reader STATIC EXCLUDE_FROM_ALL
    ${CMAKE_CURRENT_LIST_DIR}/axes_text.cpp ${CMAKE_CURRENT_LIST_DIR}/read_file.cpp
    ${CMAKE_CURRENT_LIST_DIR}/read_form.cpp ${CMAKE_CURRENT_LIST_DIR}/read_variable.cpp)
target_link_libraries(surrogate_dataset_reader PUBLIC surrogate surrogate_flags PRIVATE surrogate_hdf5)
