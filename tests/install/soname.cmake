# SPDX-License-Identifier: Apache-2.0
# cmake -DREADELF=<readelf> -DPREFIX_LIB=<installed library folder> -DHEADER=<surrogate.h> -P soname.cmake
# Every library says in its soname which versions may take its place: 0.<minor> while the major version is 0, then
# <major>; the file it names is there, what needs another of our libraries needs it by that name, and the plug-in, which
# the library opens by its name, carries the same number.
cmake_minimum_required(VERSION 3.25)

file(READ ${HEADER} text)
foreach(part MAJOR MINOR PATCH)
    string(REGEX MATCH "SURROGATE_VERSION_${part} ([0-9]+)" match "${text}")
    set(${part} ${CMAKE_MATCH_1})
endforeach()
set(number ${MAJOR})
if(MAJOR EQUAL 0)
    set(number 0.${MINOR})
endif()

file(GLOB libraries ${PREFIX_LIB}/libsurrogate*.so.${MAJOR}.${MINOR}.${PATCH})
if(NOT libraries)
    message(FATAL_ERROR "no libsurrogate*.so.${MAJOR}.${MINOR}.${PATCH} in ${PREFIX_LIB}")
endif()
foreach(library IN LISTS libraries)
    cmake_path(GET library STEM name)
    execute_process(COMMAND ${READELF} -d ${library} OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
    if(NOT table MATCHES "soname: \\[([^]]*)\\]" OR NOT CMAKE_MATCH_1 STREQUAL "${name}.so.${number}")
        message(FATAL_ERROR "${library}: soname is ${CMAKE_MATCH_1}, expected ${name}.so.${number}")
    endif()
    if(NOT EXISTS ${PREFIX_LIB}/${CMAKE_MATCH_1})
        message(FATAL_ERROR "${PREFIX_LIB}/${CMAKE_MATCH_1} is missing")
    endif()
    string(REGEX MATCHALL "\\[libsurrogate[^]]*\\.so[^]]*\\]" ours "${table}")
    foreach(one IN LISTS ours)
        if(NOT one MATCHES "\\.so\\.${number}\\]$")
            message(FATAL_ERROR "${library} needs ${one}, expected .so.${number}")
        endif()
    endforeach()
    message(NOTICE "${name}: ${ours}")
endforeach()

# The name that the library opens is in its description, see installed_headers.
file(GLOB plugins RELATIVE ${PREFIX_LIB} ${PREFIX_LIB}/libsurrogate_cuda*)
if(plugins AND NOT plugins STREQUAL "libsurrogate_cuda.so.${number}")
    message(FATAL_ERROR "the plug-in is installed as ${plugins}, expected libsurrogate_cuda.so.${number}")
endif()
