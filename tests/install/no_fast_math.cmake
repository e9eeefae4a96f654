# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=<build tree> -P no_fast_math.cmake
# No compile or link line lets the compiler change the arithmetic; linked with such a flag, a library switches the
# floating-point unit of its host to flush-to-zero.
cmake_minimum_required(VERSION 3.25)

file(GLOB files ${BUILD}/build.ninja)
if(NOT files)
    file(GLOB_RECURSE files ${BUILD}/*/flags.make ${BUILD}/*/link.txt)
endif()
if(NOT files)
    message(FATAL_ERROR "no build.ninja, flags.make or link.txt under ${BUILD}")
endif()
foreach(file IN LISTS files)
    file(STRINGS ${file} lines REGEX
        "(^|[ \t=\"])-(-?use_fast_math|Ofast|ffast-math|funsafe-math-optimizations|ffinite-math-only|fassociative-math|freciprocal-math)")
    if(lines)
        message(FATAL_ERROR "${file}: ${lines}")
    endif()
endforeach()
