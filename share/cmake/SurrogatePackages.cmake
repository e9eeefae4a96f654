# SPDX-License-Identifier: Apache-2.0
# Debian packages by `cpack` in the build folder, or from nothing by `cmake --workflow --preset deb`: a component each.
#   libsurrogate<number of the soname>   the libraries; versions can be installed side by side
#   libsurrogate-cuda<number>            the plug-in for devices, where it is built
#   libsurrogate-torch<number>           the plug-in for networks of PyTorch, where it is built
#   surrogate-tools                      the program, trained models, the Python package, the documentation
#   libsurrogate-dev                     headers, modules, files of CMake and pkg-config, examples
# What they need of others dpkg-shlibdeps finds in the binaries.
if(NOT PROJECT_IS_TOP_LEVEL)
    return()
endif()
set(SURROGATE_PACKAGE_CONTACT "libsurrogate maintainers <libsurrogate@localhost>" CACHE STRING
    "Maintainer field of packages: name <address>")
mark_as_advanced(SURROGATE_PACKAGE_CONTACT)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME surrogate)
set(CPACK_PACKAGE_CONTACT "${SURROGATE_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL library tools development)
if(TARGET surrogate_cuda)
    list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()
if(TARGET surrogate_torch)
    list(APPEND CPACK_COMPONENTS_ALL torch)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libsurrogate${SURROGATE_SOVERSION})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS surrogate-tools)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "${PROJECT_DESCRIPTION} - libraries
One instance of a model spans all ranks of a communicator; predictions come
back in the solver's own arrays, as PETSc vectors, and in files for ParaView.")

set(CPACK_DEBIAN_CUDA_PACKAGE_NAME libsurrogate-cuda${SURROGATE_SOVERSION})
set(CPACK_DEBIAN_CUDA_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_CUDA_PACKAGE_SHLIBDEPS OFF)   # the driver's libraries are opened, not linked
set(CPACK_COMPONENT_CUDA_DEPENDS library)
set(CPACK_COMPONENT_CUDA_DESCRIPTION "${PROJECT_DESCRIPTION} - GPUs
The plug-in that libsurrogate opens when a plan asks for a device of NVIDIA.")

set(CPACK_DEBIAN_TORCH_PACKAGE_NAME libsurrogate-torch${SURROGATE_SOVERSION})
set(CPACK_DEBIAN_TORCH_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_TORCH_PACKAGE_SHLIBDEPS OFF)   # PyTorch comes from its wheel, which no package holds
set(CPACK_COMPONENT_TORCH_DEPENDS library)
set(CPACK_COMPONENT_TORCH_DESCRIPTION "${PROJECT_DESCRIPTION} - PyTorch
The plug-in that libsurrogate opens for models of family torch. It needs the
libraries of the PyTorch that it was built with.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME surrogate-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_COMPONENT_TOOLS_DEPENDS library)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "python3-numpy, python3-mpi4py, python3-h5py, python3-meshio, paraview")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "${PROJECT_DESCRIPTION} - program
The program surrogate, which looks at models, checks, evaluates and trains
them; trained models, the Python package with the exporter from
PyTorch, the documentation.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libsurrogate-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS library tools)
# mpi.h is needed by a header of ours, and FindMPI ends the configuration where Open MPI's programs are without it.
if(SURROGATE_HAVE_MPI)
    set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS libopenmpi-dev)
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS pkg-config)
if(SURROGATE_HAVE_PETSC)
    string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS ", petsc-dev")
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "cmake, gfortran")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${PROJECT_DESCRIPTION} - development
Headers for C and C++, modules for Fortran, files for CMake and pkg-config,
and the examples, each a project of its own.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/share/cmake/deb/postinst
    ${PROJECT_SOURCE_DIR}/share/cmake/deb/postrm)
set(CPACK_DEBIAN_CUDA_PACKAGE_CONTROL_EXTRA ${CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA})
set(CPACK_DEBIAN_TORCH_PACKAGE_CONTROL_EXTRA ${CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA})

# Installs the name and the license of each package in its own folder of documents.
set(CPACK_SURROGATE_LIBRARY ${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME})
set(CPACK_SURROGATE_CUDA ${CPACK_DEBIAN_CUDA_PACKAGE_NAME})
set(CPACK_SURROGATE_TORCH ${CPACK_DEBIAN_TORCH_PACKAGE_NAME})
set(CPACK_SURROGATE_TOOLS ${CPACK_DEBIAN_TOOLS_PACKAGE_NAME})
set(CPACK_SURROGATE_DEVELOPMENT ${CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME})
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/share/cmake/package_documents.cmake)
include(CPack)
