# SPDX-License-Identifier: Apache-2.0
# First step of `cmake --install`: notes the folders that it is going to make, for uninstall.cmake.
#   SURROGATE_RECORD         file to add to, without .txt; named as CMake names its manifest, a component at the end
#   SURROGATE_DESTINATIONS   where files will be installed, below the prefix or absolute
cmake_policy(VERSION 3.25)
set(record ${SURROGATE_RECORD}.txt)
if(CMAKE_INSTALL_COMPONENT)
    set(record ${SURROGATE_RECORD}_${CMAKE_INSTALL_COMPONENT}.txt)
endif()
set(folders)
if(EXISTS ${record})
    file(STRINGS ${record} folders)
endif()
foreach(folder IN LISTS SURROGATE_DESTINATIONS)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} NORMALIZE)
    while(NOT EXISTS "$ENV{DESTDIR}${folder}" AND NOT folder IN_LIST folders)
        list(APPEND folders ${folder})
        cmake_path(GET folder PARENT_PATH folder)
    endwhile()
endforeach()
list(JOIN folders "\n" folders)
file(WRITE ${record} "${folders}\n")
