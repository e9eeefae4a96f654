# SPDX-License-Identifier: Apache-2.0
# Installs, with `cmake --install`, besides the targets: package config, pkg-config files, models, documents, examples, license.
include(CMakePackageConfigHelpers)

set(surrogate_built)
foreach(component mpi petsc vtk timeloop dataset fortran)
    if(TARGET surrogate_${component})
        list(APPEND surrogate_built ${component})
    endif()
endforeach()

# ---- CMake ----
set(surrogate_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/surrogate)
set(surrogate_package ${PROJECT_BINARY_DIR}/package)
configure_package_config_file(${PROJECT_SOURCE_DIR}/share/cmake/surrogateConfig.cmake.in
    ${surrogate_package}/surrogateConfig.cmake INSTALL_DESTINATION ${surrogate_package_dir}
    PATH_VARS CMAKE_INSTALL_DATADIR CMAKE_INSTALL_DOCDIR)
write_basic_package_version_file(${surrogate_package}/surrogateConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# A minor version of PETSc changes its binary interface.
if(PETSC_VERSION MATCHES "^([0-9]+)\\.([0-9]+)")
    set(surrogate_petsc_version ${CMAKE_MATCH_0})
    math(EXPR surrogate_next_petsc "${CMAKE_MATCH_2} + 1")
    set(surrogate_next_petsc ${CMAKE_MATCH_1}.${surrogate_next_petsc})
endif()
set(component_files)
foreach(component IN LISTS surrogate_built)
    set(component_file ${PROJECT_SOURCE_DIR}/share/cmake/surrogate-${component}.cmake)
    if(EXISTS ${component_file}.in)
        configure_file(${component_file}.in ${surrogate_package}/surrogate-${component}.cmake @ONLY)
        set(component_file ${surrogate_package}/surrogate-${component}.cmake)
    endif()
    list(APPEND component_files ${component_file})
endforeach()
install(FILES ${surrogate_package}/surrogateConfig.cmake ${surrogate_package}/surrogateConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/share/cmake/surrogateMissing.cmake ${PROJECT_SOURCE_DIR}/share/cmake/surrogatePetsc.cmake
    ${PROJECT_SOURCE_DIR}/share/cmake/surrogateMpiMake.cmake
    ${component_files} DESTINATION ${surrogate_package_dir})
install(EXPORT surrogate NAMESPACE surrogate:: FILE surrogateTargets.cmake DESTINATION ${surrogate_package_dir})
foreach(component IN LISTS surrogate_built)
    install(EXPORT surrogate-${component} NAMESPACE surrogate:: FILE surrogate-${component}Targets.cmake
        DESTINATION ${surrogate_package_dir})
endforeach()

# ---- pkg-config ----
# Paths are relative to the file itself, as far as they lie below the prefix.
set(surrogate_pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
foreach(variable LIBDIR INCLUDEDIR DATADIR DOCDIR)
    cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_${variable} BASE_DIRECTORY ${surrogate_pc_dir} OUTPUT_VARIABLE pc_${variable})
endforeach()
list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE pc_mpi_include)
list(JOIN pc_mpi_include " " pc_mpi_include)
list(JOIN MPI_C_LIBRARIES " " pc_mpi_libraries)
set(pc_petsc_plugin)
if(TARGET surrogate_petsc_plugin)
    set(pc_petsc_plugin "# for PETSc's -dll_append\nplugin=\${libdir}/libsurrogate_petsc_plugin.so")
endif()
foreach(part surrogate ${surrogate_built})
    string(REGEX REPLACE "^surrogate_surrogate$" "surrogate" name surrogate_${part})
    configure_file(${PROJECT_SOURCE_DIR}/share/cmake/${name}.pc.in ${surrogate_package}/${name}.pc @ONLY)
    install(FILES ${surrogate_package}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# ---- models, documents, examples ----
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/models DESTINATION ${CMAKE_INSTALL_DATADIR}/surrogate COMPONENT tools)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/surrogate COMPONENT tools
    PATTERN __pycache__ EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/python DESTINATION ${CMAKE_INSTALL_DATADIR}/surrogate COMPONENT tools
    PATTERN __pycache__ EXCLUDE PATTERN build EXCLUDE PATTERN *.egg-info EXCLUDE)
# The Python package finds the libraries by this file: relative to itself, also after a move; a copy that pip has made
# elsewhere by the absolute path.
set(surrogate_python_folder ${CMAKE_INSTALL_FULL_DATADIR}/surrogate/python/surrogate)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${surrogate_python_folder} OUTPUT_VARIABLE relative)
install(CODE "
    set(absolute [[${CMAKE_INSTALL_LIBDIR}]])
    cmake_path(ABSOLUTE_PATH absolute BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
    file(WRITE [[${surrogate_package}/_installed.py]] \"# Folder of the libraries of this installation.
relative = \\\"${relative}\\\"
absolute = \\\"\${absolute}\\\"
\")" COMPONENT tools)
install(FILES ${surrogate_package}/_installed.py DESTINATION ${CMAKE_INSTALL_DATADIR}/surrogate/python/surrogate COMPONENT tools)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/paraview DESTINATION ${CMAKE_INSTALL_DATADIR}/surrogate COMPONENT tools
    PATTERN __pycache__ EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/share/upgrade-0.2.sed DESTINATION ${CMAKE_INSTALL_DATADIR}/surrogate COMPONENT tools)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tools)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/surrogate
    PATTERN examples/CMakeLists.txt EXCLUDE)

# Pages link to examples, recipes and CHANGELOG.md, which are elsewhere in an installation.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_DATADIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_DOCDIR} OUTPUT_VARIABLE to_data)
file(GLOB_RECURSE pages CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/share/doc ${PROJECT_SOURCE_DIR}/share/doc/*)
foreach(page IN LISTS pages)
    set(source ${PROJECT_SOURCE_DIR}/share/doc/${page})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    set(installed ${source})
    cmake_path(GET page PARENT_PATH folder)
    if(page MATCHES "\\.md$")
        string(REGEX REPLACE "[^/]+/?" "../" up "${folder}")   # from the page to the folder of documents
        file(READ ${source} text)
        string(REGEX REPLACE "\\]\\((\\.\\./)+examples/" "](${up}${to_data}/surrogate/examples/" text "${text}")
        string(REGEX REPLACE "\\]\\((\\.\\./)+recipes/" "](${up}${to_data}/surrogate/recipes/" text "${text}")
        string(REGEX REPLACE "\\]\\((\\.\\./)+CHANGELOG\\.md" "](${up}CHANGELOG.md" text "${text}")
        set(installed ${PROJECT_BINARY_DIR}/doc/${page})
        file(WRITE ${installed} "${text}")
    endif()
    install(FILES ${installed} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} COMPONENT tools)
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/CHANGELOG.md)
file(READ ${PROJECT_SOURCE_DIR}/CHANGELOG.md text)
string(REPLACE "](share/doc/" "](" text "${text}")
file(WRITE ${PROJECT_BINARY_DIR}/doc/CHANGELOG.md "${text}")
install(FILES ${PROJECT_BINARY_DIR}/doc/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tools)
