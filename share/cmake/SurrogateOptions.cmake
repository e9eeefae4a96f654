# SPDX-License-Identifier: Apache-2.0
# Options, their dependencies, and the flags every target of ours is compiled with (target surrogate_flags).

# A feature is ON, OFF, or AUTO: built when what it needs is found. ON and not found is an error.
foreach(feature MPI PETSC VTK CUDA)
    set(SURROGATE_${feature} AUTO CACHE STRING "Build with ${feature}: ON, OFF or AUTO (when found)")
    set_property(CACHE SURROGATE_${feature} PROPERTY STRINGS AUTO ON OFF)
endforeach()
foreach(feature FORTRAN HDF5)
    if(SURROGATE_${feature})
        message(FATAL_ERROR "SURROGATE_${feature} is planned and cannot be switched on in version ${PROJECT_VERSION}")
    endif()
endforeach()
option(SURROGATE_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SURROGATE_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(SURROGATE_BENCHMARKS "Build the benchmarks (Google Benchmark)" OFF)
option(SURROGATE_WERROR "Warnings are errors" OFF)
set(SURROGATE_CUDA_ARCHITECTURES "80-real;90a-real" CACHE STRING
    "Device code is compiled for these, as in CUDA_ARCHITECTURES: 80 runs on 8.x, 90a on 9.0 alone")
set(SURROGATE_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=: address,undefined")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# surrogate_feature(<FEATURE> <found> <hint>): turns AUTO into ON or OFF in SURROGATE_HAVE_<FEATURE>.
macro(surrogate_feature feature found hint)
    if(SURROGATE_${feature} STREQUAL "OFF")
        set(SURROGATE_HAVE_${feature} OFF)
    elseif(${found})
        set(SURROGATE_HAVE_${feature} ON)
    elseif(SURROGATE_${feature} STREQUAL "AUTO")
        set(SURROGATE_HAVE_${feature} OFF)
        message(STATUS "surrogate: without ${feature} (${hint})")
    else()
        message(FATAL_ERROR "SURROGATE_${feature}=ON, but it was not found; ${hint}")
    endif()
endmacro()

find_package(PkgConfig QUIET)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(hwy QUIET CONFIG)
if(TARGET hwy::hwy)
    set(SURROGATE_HWY hwy::hwy)
else()
    pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
    set(SURROGATE_HWY PkgConfig::HWY)
endif()
find_path(SURROGATE_XXHASH_INCLUDE xxhash.h REQUIRED DOC "Directory of xxhash.h (Debian: libxxhash-dev)")

if(NOT SURROGATE_MPI STREQUAL "OFF")
    find_package(MPI QUIET COMPONENTS C)
endif()
surrogate_feature(MPI MPI_C_FOUND "Debian: apt-get install libopenmpi-dev openmpi-bin")

if(SURROGATE_HAVE_MPI AND NOT SURROGATE_PETSC STREQUAL "OFF" AND PkgConfig_FOUND)
    pkg_check_modules(PETSC QUIET IMPORTED_TARGET PETSc>=3.17)
endif()
set(surrogate_petsc_hint "needs MPI and PETSc >= 3.17; Debian: apt-get install petsc-dev pkg-config")
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
        set(surrogate_petsc_hint "the PETSc that pkg-config finds has complex scalars, fields are real: point \
PKG_CONFIG_PATH at a real one (Debian: libpetsc-real-dev)")
    endif()
endif()
surrogate_feature(PETSC PETSC_FOUND "${surrogate_petsc_hint}")

if(NOT SURROGATE_VTK STREQUAL "OFF")
    find_package(VTK 9.0 QUIET COMPONENTS CommonCore CommonDataModel CommonExecutionModel IOXML IOImage ImagingCore)
endif()
surrogate_feature(VTK VTK_FOUND "needs VTK >= 9.0; Debian: apt-get install libvtk9-dev")

# Device code lies in a plug-in (libsurrogate/CMakeLists.txt); everything else is the same without it.
set(surrogate_found_cuda OFF)
if(NOT SURROGATE_CUDA STREQUAL "OFF")
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE surrogate_nvcc ERROR_QUIET)
        if(surrogate_nvcc MATCHES "release ([0-9.]+)" AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL 12.4)
            set(surrogate_found_cuda ON)
        endif()
    endif()
endif()
surrogate_feature(CUDA surrogate_found_cuda "needs nvcc >= 12.4 of the CUDA toolkit, in PATH or as CUDACXX")
if(SURROGATE_HAVE_CUDA)
    enable_language(CUDA)
    include(FindToolkit)
endif()

# Flags of our own targets, never passed on to users. No -ffast-math, ever: it would switch the host's floating-point
# unit to flush-to-zero. No contraction: a fused multiply-add is written where it is meant, so that bits do not depend
# on the compiler's choice.
add_library(surrogate_flags INTERFACE)
target_compile_features(surrogate_flags INTERFACE cxx_std_20)
target_compile_options(surrogate_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-ffp-contract=off>"
    "$<$<AND:$<BOOL:${SURROGATE_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>")
if(SURROGATE_HAVE_CUDA)
    # -std by hand: CMake 3.25 knows no C++20 of nvcc. Relaxed: device code calls our constexpr functions. No -Wpedantic:
    # what nvcc hands to the host compiler is not pedantic. -v: ptxas reports registers and spills, see keep_report.sh.
    target_compile_options(surrogate_flags INTERFACE
        "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra,-Wshadow,-ffp-contract=off;-Xptxas=-v>"
        "$<$<AND:$<BOOL:${SURROGATE_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:-Werror=all-warnings;-Xcompiler=-Werror>")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
    target_compile_options(surrogate_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wno-restrict>)
endif()
target_include_directories(surrogate_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(SURROGATE_SANITIZE)
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${SURROGATE_SANITIZE};-fno-omit-frame-pointer>"
        "$<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>")
    add_link_options(-fsanitize=${SURROGATE_SANITIZE})
endif()
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# One place for libraries and programs in the build tree; $ORIGIN makes the installed tree relocatable.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
file(RELATIVE_PATH surrogate_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set(CMAKE_INSTALL_RPATH $ORIGIN $ORIGIN/${surrogate_bin_to_lib})
