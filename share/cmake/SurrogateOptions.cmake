# SPDX-License-Identifier: Apache-2.0
# Options, their dependencies, and the flags every target of ours is compiled with (target surrogate_flags).

# A feature is ON, OFF, or AUTO: built when what it needs is found. ON and not found is an error.
foreach(feature MPI PETSC VTK HDF5 FORTRAN CUDA TORCH CCACHE)
    set(SURROGATE_${feature} AUTO CACHE STRING "${feature}: ON, OFF or AUTO (when found)")
    set_property(CACHE SURROGATE_${feature} PROPERTY STRINGS AUTO ON OFF)
    string(TOUPPER "${SURROGATE_${feature}}" SURROGATE_${feature})
    if(NOT SURROGATE_${feature} MATCHES "^(AUTO|ON|OFF)$")
        message(FATAL_ERROR "SURROGATE_${feature}=${SURROGATE_${feature}}: expected ON, OFF or AUTO")
    endif()
endforeach()
option(SURROGATE_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SURROGATE_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(SURROGATE_BENCHMARKS "Build the benchmarks (Google Benchmark)" OFF)
option(SURROGATE_WERROR "Warnings are errors" OFF)
set(SURROGATE_CUDA_ARCHITECTURES "80;90a-real" CACHE STRING
    "Device code is compiled for these, as in CUDA_ARCHITECTURES: 80 runs on 8.x, 90a on 9.0 alone, PTX of 80 on later ones")
option(SURROGATE_HARDENING "Optimized builds with the hardening flags of Debian's packages" ON)
set(SURROGATE_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=: address,undefined")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

include(SurrogateReport)
include(SurrogateDependencies)   # SURROGATE_HAVE_{MPI,PETSC,VTK,HDF5,FORTRAN,CUDA,TORCH}, SURROGATE_HWY, SURROGATE_XXHASH_INCLUDE
include(SurrogateCcache)

# Sets the flags of our own targets, never passed on to users. No -ffast-math, ever: it would switch the host's
# floating-point unit to flush-to-zero. Host code is compiled without contraction: a fused multiply-add is written
# explicitly, so that results do not depend on the compiler's choice. Device code is contracted (nvcc's -fmad=true): its
# results differ in the last bits from the host and from the emulation in any kernel that adds a product, and no test
# compares them bit by bit.
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

# Debian's hardening (dpkg-buildflags), where code is optimized: checked calls of libc, guarded stack frames, tables of
# functions that are read-only once the library is loaded. No sanitizer works beside checked calls.
if(SURROGATE_HARDENING AND NOT SURROGATE_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_compile_options(surrogate_flags INTERFACE "$<$<AND:$<CONFIG:Release,RelWithDebInfo,MinSizeRel>,$<COMPILE_LANGUAGE:C,CXX>>:\
-fstack-protector-strong;-Wformat;-Wformat-security;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
    add_link_options($<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:LINKER:-z,relro,-z,now>)
endif()
# No path of the build folder in a library or a debug section: builds in two folders are the same to the byte.
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    foreach(folder ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
        target_compile_options(surrogate_flags INTERFACE
            "$<$<COMPILE_LANGUAGE:C,CXX,Fortran>:-ffile-prefix-map=${folder}/=>"
            "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffile-prefix-map=${folder}/=>")
    endforeach()
endif()
if(SURROGATE_SANITIZE)
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${SURROGATE_SANITIZE};-fno-omit-frame-pointer>"
        "$<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>")
    add_link_options(-fsanitize=${SURROGATE_SANITIZE})
endif()
# Every shared library of ours stays in the process once it is loaded: workers that OpenMP keeps between runs wait in code
# that a host's dlclose() (a plug-in, at the end of its job) would otherwise take away under them.
set(surrogate_stays -Wl,-z,nodelete)
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
# MPI, PETSc or VTK from a folder of their own are found again by what is installed; Debian's need no such paths (preset deb).
if(NOT DEFINED CMAKE_INSTALL_RPATH_USE_LINK_PATH)
    set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()
# While the major version is 0, a minor version may change the binary interface: its number is part of the soname.
set(SURROGATE_SOVERSION ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(SURROGATE_SOVERSION 0.${PROJECT_VERSION_MINOR})
endif()
