# SPDX-License-Identifier: Apache-2.0
# Finds PETSc for the library's own build and for projects that ask for the component petsc (it is installed).
# PETSC_DIR and PETSC_ARCH, as variables of CMake or of the environment, come before pkg-config's own places; a PETSC_DIR
# without PETSc is a problem, not a reason to take another one.
#   PETSC_FOUND, PETSC_VERSION, .., PkgConfig::PETSC    as pkg_check_modules sets them
#   surrogate_petsc_problem                             why PETSC_FOUND is false, and what would help
set(surrogate_petsc_problem "")
set(PETSC_FOUND FALSE)
find_package(PkgConfig QUIET)
if(NOT PkgConfig_FOUND)
    set(surrogate_petsc_problem "pkg-config, which finds PETSc, is missing")
    return()
endif()

foreach(name PETSC_DIR PETSC_ARCH)
    set(surrogate_${name} "${${name}}")
    if(surrogate_${name} STREQUAL "")
        set(surrogate_${name} "$ENV{${name}}")
    endif()
endforeach()
set(surrogate_pkg_config_path "$ENV{PKG_CONFIG_PATH}")
if(surrogate_PETSC_DIR)
    set(surrogate_petsc_pc "")
    foreach(folder ${surrogate_PETSC_DIR}/${surrogate_PETSC_ARCH}/lib/pkgconfig ${surrogate_PETSC_DIR}/lib/pkgconfig)
        if(NOT surrogate_petsc_pc AND EXISTS ${folder}/PETSc.pc)
            set(surrogate_petsc_pc ${folder})
        endif()
    endforeach()
    if(NOT surrogate_petsc_pc)
        set(surrogate_petsc_problem "PETSC_DIR=${surrogate_PETSC_DIR} PETSC_ARCH=${surrogate_PETSC_ARCH} holds no \
lib/pkgconfig/PETSc.pc (nor $PETSC_ARCH/lib/pkgconfig/PETSc.pc); correct it, or unset it to take the one that pkg-config finds")
        return()
    endif()
    set(ENV{PKG_CONFIG_PATH} "${surrogate_petsc_pc}:${surrogate_pkg_config_path}")
endif()
pkg_check_modules(PETSC QUIET IMPORTED_TARGET PETSc>=3.17)
pkg_get_variable(surrogate_petsc_include PETSc includedir)
set(ENV{PKG_CONFIG_PATH} "${surrogate_pkg_config_path}")
if(NOT PETSC_FOUND)
    set(surrogate_petsc_problem "PETSc.pc was not found by pkg-config (3.17 or newer); set PETSC_DIR and PETSC_ARCH, or \
PKG_CONFIG_PATH to $PETSC_DIR/$PETSC_ARCH/lib/pkgconfig")
    return()
endif()

# The types that PETSc was configured with. Without a petscconf.h the compiler decides (context_petsc.cpp).
set(surrogate_petsc_types "")
foreach(folder ${PETSC_INCLUDE_DIRS} ${surrogate_petsc_include})
    if(EXISTS ${folder}/petscconf.h)
        file(STRINGS ${folder}/petscconf.h surrogate_petsc_types
            REGEX "define[ \t]+PETSC_USE_(COMPLEX|64BIT_INDICES|REAL___FLOAT128|REAL___FP16)")
        break()
    endif()
endforeach()
set(surrogate_petsc_wrong "")
if(surrogate_petsc_types MATCHES "PETSC_USE_COMPLEX")
    list(APPEND surrogate_petsc_wrong "complex scalars, expected real ones")
endif()
if(surrogate_petsc_types MATCHES "PETSC_USE_64BIT_INDICES")
    list(APPEND surrogate_petsc_wrong "64-bit integers, expected 32-bit ones")
endif()
if(surrogate_petsc_types MATCHES "PETSC_USE_REAL___(FLOAT128|FP16)")
    list(APPEND surrogate_petsc_wrong "scalars of type ${CMAKE_MATCH_1}, expected float or double")
endif()
if(surrogate_petsc_wrong)
    list(JOIN surrogate_petsc_wrong " and " surrogate_petsc_wrong)
    set(PETSC_FOUND FALSE)
    set(surrogate_petsc_problem "the PETSc in ${PETSC_PREFIX} has ${surrogate_petsc_wrong}; set PETSC_DIR and \
PETSC_ARCH, or PKG_CONFIG_PATH, to another PETSc")
endif()
