# SPDX-License-Identifier: Apache-2.0
# Component vtk of find_package(surrogate): surrogate::vtk. VTK itself is not needed to compile.
if(NOT TARGET surrogate::vtk)
    include("${CMAKE_CURRENT_LIST_DIR}/surrogate-vtkTargets.cmake")
    # The library finds its VTK by itself. Named here, a project that has found other modules of VTK would need all that
    # ours need (Freetype::Freetype).
    get_target_property(surrogate_configurations surrogate::vtk IMPORTED_CONFIGURATIONS)
    foreach(surrogate_configuration IN LISTS surrogate_configurations)
        set_property(TARGET surrogate::vtk PROPERTY IMPORTED_LINK_DEPENDENT_LIBRARIES_${surrogate_configuration})
    endforeach()
endif()
