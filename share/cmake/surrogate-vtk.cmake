# SPDX-License-Identifier: Apache-2.0
# Component vtk of find_package(surrogate): surrogate::vtk. VTK itself is not needed to compile.
if(NOT TARGET surrogate::vtk)
    include("${CMAKE_CURRENT_LIST_DIR}/surrogate-vtkTargets.cmake")
endif()
