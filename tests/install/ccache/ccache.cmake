# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=<this folder> -DMODULES=<share/cmake> -DWORK=<scratch folder> -DCXX=<compiler> -P ccache.cmake
# A build in another folder compiles nothing again, precompiled headers and their users included.
cmake_minimum_required(VERSION 3.25)
find_program(ccache ccache)
if(NOT ccache)
    message(NOTICE "no ccache here")
    return()
endif()
file(REMOVE_RECURSE ${WORK})
file(COPY ${SOURCE}/CMakeLists.txt DESTINATION ${WORK}/source)
set(ENV{CCACHE_DIR} ${WORK}/cache)
foreach(variable CCACHE_BASEDIR CCACHE_SLOPPINESS CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER)
    unset(ENV{${variable}})
endforeach()

# misses_of(<folder> <out>): what had to be compiled to build there.
function(misses_of folder out)
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${WORK}/source -B ${WORK}/source/${folder} -DMODULES=${MODULES}
        -DCMAKE_CXX_COMPILER=${CXX} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${ccache} --zero-stats OUTPUT_QUIET)
    execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/source/${folder} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${ccache} --print-stats OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCH "cache_miss\t([0-9]+)" match "${table}")
    set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
    if(table MATCHES "(preprocessor_error|could_not_use_precompiled_header|unsupported_[a-z_]+)\t[1-9]")
        message(FATAL_ERROR "${CMAKE_MATCH_0}\n${table}")
    endif()
endfunction()

misses_of(build first)
misses_of(elsewhere second)
message(NOTICE "compiled in the first folder: ${first}, in the second: ${second}")
if(first LESS 2 OR NOT second EQUAL 0)
    message(FATAL_ERROR "expected 3 (the header, its maker, its user; 2 without precompiled headers) and 0")
endif()
