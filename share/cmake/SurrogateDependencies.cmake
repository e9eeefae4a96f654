# SPDX-License-Identifier: Apache-2.0
# What the library is built with: packages it must have, and features that are built when theirs are found.

# surrogate_feature(<FEATURE> <found> <where> <hint>): turns AUTO into ON or OFF in SURROGATE_HAVE_<FEATURE> and reports it.
macro(surrogate_feature feature found where hint)
    set(SURROGATE_HAVE_${feature} OFF)
    if(SURROGATE_${feature} STREQUAL "OFF")
        surrogate_report(${feature} OFF "switched off (SURROGATE_${feature}=OFF)")
    elseif(${found})
        set(SURROGATE_HAVE_${feature} ON)
        surrogate_report(${feature} ON "${where}")
    elseif(SURROGATE_${feature} STREQUAL "AUTO")
        surrogate_report(${feature} OFF "${hint}")
    else()
        message(FATAL_ERROR "SURROGATE_${feature}=ON, but it was not found; ${hint}")
    endif()
endmacro()

# ---- required ----
# surrogate_require(<found> <what> <package>): everything that is missing is named at once, below.
set(surrogate_missing "")
set(surrogate_missing_packages "")
macro(surrogate_require found what package)
    if(NOT ${found})
        string(APPEND surrogate_missing "\n  ${what}")
        string(APPEND surrogate_missing_packages " ${package}")
    endif()
endmacro()

find_package(PkgConfig QUIET)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(nlohmann_json 3.9 QUIET)
surrogate_require(nlohmann_json_FOUND "nlohmann-json >= 3.9" nlohmann-json3-dev)
find_package(hwy QUIET CONFIG)
if(TARGET hwy::hwy)
    set(SURROGATE_HWY hwy::hwy)
elseif(PkgConfig_FOUND)
    pkg_check_modules(HWY QUIET IMPORTED_TARGET libhwy)
    set(SURROGATE_HWY PkgConfig::HWY)
endif()
set(surrogate_found_hwy OFF)
if(TARGET "${SURROGATE_HWY}")
    set(surrogate_found_hwy ON)
endif()
surrogate_require(surrogate_found_hwy "Google Highway" libhwy-dev)
find_path(SURROGATE_XXHASH_INCLUDE xxhash.h DOC "Directory of xxhash.h (Debian: libxxhash-dev)")
surrogate_require(SURROGATE_XXHASH_INCLUDE "xxHash (xxhash.h)" libxxhash-dev)
find_package(CLI11 2.0 QUIET)
surrogate_require(CLI11_FOUND "CLI11 >= 2.0" libcli11-dev)
if(SURROGATE_TESTS)
    find_package(GTest QUIET)
    surrogate_require(GTest_FOUND "GoogleTest (or -DSURROGATE_TESTS=OFF)" libgtest-dev)
endif()
if(surrogate_missing)
    message(FATAL_ERROR "not found:${surrogate_missing}\nDebian: apt-get install${surrogate_missing_packages}\n"
        "Elsewhere: name the folders they are installed in by -DCMAKE_PREFIX_PATH=..; share/doc/install.md lists them.")
endif()

# ---- features ----
if(NOT SURROGATE_MPI STREQUAL "OFF")
    find_package(MPI QUIET COMPONENTS C)
endif()
surrogate_feature(MPI MPI_C_FOUND "MPI ${MPI_C_VERSION}, ${MPI_C_COMPILER}"
    "not found: load its module, or set MPI_HOME; Debian: apt-get install libopenmpi-dev openmpi-bin")

if(SURROGATE_HAVE_MPI AND NOT SURROGATE_PETSC STREQUAL "OFF")
    include(surrogatePetsc)
    string(APPEND surrogate_petsc_problem "; Debian: apt-get install petsc-dev pkg-config")
endif()
if(NOT SURROGATE_HAVE_MPI)
    set(surrogate_petsc_problem "needs MPI")
endif()
if(PETSC_FOUND)
    # Debian's PETSc.pc (3.18.5) hands its own package's flags on: -Wdate-time -D_FORTIFY_SOURCE=2. The second warns in
    # every file compiled without optimisation and fits no precompiled header.
    set_target_properties(PkgConfig::PETSC PROPERTIES INTERFACE_COMPILE_OPTIONS "")
    include(CheckCXXSourceCompiles)
    set(CMAKE_REQUIRED_LIBRARIES PkgConfig::PETSC MPI::MPI_C)
    check_cxx_source_compiles("
        #include <petscconf.h>
        #if defined(PETSC_USE_COMPLEX)
        #error complex
        #endif
        int main() { return 0; }" SURROGATE_PETSC_IS_REAL)
    unset(CMAKE_REQUIRED_LIBRARIES)
    if(NOT SURROGATE_PETSC_IS_REAL)
        set(PETSC_FOUND FALSE)
        set(surrogate_petsc_problem "the PETSc in ${PETSC_PREFIX} has complex scalars, fields are real: set PETSC_DIR \
and PETSC_ARCH, or PKG_CONFIG_PATH, to a real one (Debian: libpetsc-real-dev)")
    endif()
endif()
surrogate_feature(PETSC PETSC_FOUND "${PETSC_VERSION}, ${PETSC_PREFIX}" "${surrogate_petsc_problem}")

if(NOT SURROGATE_VTK STREQUAL "OFF")
    find_package(VTK 9.0 QUIET COMPONENTS CommonCore CommonDataModel CommonExecutionModel IOXML IOImage
        RenderingFreeType)
endif()
surrogate_feature(VTK VTK_FOUND "${VTK_VERSION}, ${VTK_DIR}"
    "not found: VTK >= 9.0, set VTK_DIR; Debian: apt-get install libvtk9-dev")

# Checkpoints of the time loop. One that knows MPI where the library does: ranks write one file together.
set(surrogate_hdf5_problem "not found: HDF5 >= 1.10, set HDF5_ROOT; Debian: apt-get install libhdf5-openmpi-dev")
if(NOT SURROGATE_HDF5 STREQUAL "OFF")
    set(HDF5_PREFER_PARALLEL ${SURROGATE_HAVE_MPI})
    find_package(HDF5 1.10 QUIET COMPONENTS C)
    if(HDF5_FOUND AND HDF5_IS_PARALLEL AND NOT SURROGATE_HAVE_MPI)
        set(HDF5_FOUND FALSE)
        set(surrogate_hdf5_problem "the HDF5 found needs MPI, and MPI is off; Debian: apt-get install libhdf5-dev")
    endif()
endif()
set(surrogate_hdf5_kind "on one rank only")
if(HDF5_IS_PARALLEL)
    set(surrogate_hdf5_kind parallel)
endif()
surrogate_feature(HDF5 HDF5_FOUND "${HDF5_VERSION}, ${surrogate_hdf5_kind}, ${HDF5_C_INCLUDE_DIRS}"
    "${surrogate_hdf5_problem}")
# Configurations of `surrogate train`, which reads HDF5.
set(SURROGATE_HAVE_TRAIN OFF)
if(SURROGATE_HAVE_HDF5)
    find_package(tomlplusplus 3.0 QUIET)
    if(tomlplusplus_FOUND)
        set(SURROGATE_HAVE_TRAIN ON)
    else()
        message(STATUS "surrogate train: off, toml++ >= 3.0 not found (Debian: libtomlplusplus-dev)")
    endif()
endif()

set(surrogate_found_fortran OFF)
set(surrogate_fortran_hint "no Fortran compiler: set FC; Debian: apt-get install gfortran")
if(NOT SURROGATE_FORTRAN STREQUAL "OFF")
    include(CheckLanguage)
    check_language(Fortran)
    if(CMAKE_Fortran_COMPILER)
        enable_language(Fortran)
        set(surrogate_found_fortran ON)
    endif()
endif()
surrogate_feature(FORTRAN surrogate_found_fortran
    "${CMAKE_Fortran_COMPILER_ID} ${CMAKE_Fortran_COMPILER_VERSION}, ${CMAKE_Fortran_COMPILER}" "${surrogate_fortran_hint}")
if(SURROGATE_HAVE_FORTRAN AND SURROGATE_HAVE_MPI)
    find_package(MPI QUIET COMPONENTS C Fortran)   # module mpi_f08, examples, tests; the library links none of it
endif()

# Device code lies in a plug-in (libsurrogate/CMakeLists.txt); everything else is the same without it.
set(surrogate_found_cuda OFF)
set(surrogate_cuda_hint "no nvcc: put the CUDA toolkit's (>= 12.4) into PATH, or set CUDACXX")
if(NOT SURROGATE_CUDA STREQUAL "OFF")
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE surrogate_nvcc ERROR_QUIET)
        if(surrogate_nvcc MATCHES "release ([0-9.]+)" AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL 12.4)
            set(surrogate_found_cuda ON)
            set(surrogate_cuda_release ${CMAKE_MATCH_1})
        else()
            set(surrogate_cuda_hint "${CMAKE_CUDA_COMPILER} is of release ${CMAKE_MATCH_1}, 12.4 is needed")
        endif()
    endif()
endif()
surrogate_feature(CUDA surrogate_found_cuda
    "${surrogate_cuda_release}, ${CMAKE_CUDA_COMPILER}, for ${SURROGATE_CUDA_ARCHITECTURES}" "${surrogate_cuda_hint}")
if(SURROGATE_HAVE_CUDA)
    enable_language(CUDA)
    include(FindToolkit)
endif()
