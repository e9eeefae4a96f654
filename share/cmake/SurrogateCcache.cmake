# SPDX-License-Identifier: Apache-2.0
# Sets ccache as launcher of the compilers (SURROGATE_CCACHE), unless a launcher is set already.
#   SURROGATE_CCACHE_PROGRAM   its path, or empty where it is not used
set(SURROGATE_CCACHE_PROGRAM "")
foreach(language C CXX CUDA)
    if(CMAKE_${language}_COMPILER_LAUNCHER)
        surrogate_report(ccache OFF "left to CMAKE_${language}_COMPILER_LAUNCHER=${CMAKE_${language}_COMPILER_LAUNCHER}")
        return()
    endif()
endforeach()
if(SURROGATE_CCACHE STREQUAL "OFF")
    surrogate_report(ccache OFF "switched off (SURROGATE_CCACHE=OFF)")
    return()
endif()
find_program(SURROGATE_CCACHE_FOUND ccache DOC "Compiler cache")
mark_as_advanced(SURROGATE_CCACHE_FOUND)
if(NOT SURROGATE_CCACHE_FOUND)
    if(SURROGATE_CCACHE STREQUAL "ON")
        message(FATAL_ERROR "SURROGATE_CCACHE=ON, but it was not found; Debian: apt-get install ccache")
    endif()
    surrogate_report(ccache OFF "not found: compiles again what another folder has compiled; Debian: apt-get install ccache")
    return()
endif()
set(SURROGATE_CCACHE_PROGRAM ${SURROGATE_CCACHE_FOUND})

# ccache hashes absolute names, so that a build in another folder finds little of its own files, and nothing that uses
# a precompiled header: names below the folder that holds sources and build are made relative.
function(surrogate_common_folder first second out)
    cmake_path(SET folder NORMALIZE ${first})
    cmake_path(IS_PREFIX folder ${second} NORMALIZE holds_both)
    while(NOT holds_both)
        cmake_path(GET folder PARENT_PATH folder)
        cmake_path(IS_PREFIX folder ${second} NORMALIZE holds_both)
    endwhile()
    set(${out} ${folder} PARENT_SCOPE)
endfunction()

# The user's own configuration is kept.
set(surrogate_ccache_environment "")
execute_process(COMMAND ${SURROGATE_CCACHE_PROGRAM} --get-config base_dir OUTPUT_VARIABLE surrogate_base
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT surrogate_base)
    surrogate_common_folder(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} surrogate_base)
    if(NOT surrogate_base STREQUAL "/")
        list(APPEND surrogate_ccache_environment CCACHE_BASEDIR=${surrogate_base})
    endif()
endif()

# Precompiled headers: GCC must name the header's file in the text that ccache hashes, and ccache must assume that nothing
# of ours depends on __TIME__ or on macros defined before the header. Clang gets the header's absolute name behind -Xclang,
# which ccache does not change: in another folder all users of a header were compiled again (3 of 3 files; GCC 0 of 3).
# Headers are therefore not precompiled there.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    execute_process(COMMAND ${SURROGATE_CCACHE_PROGRAM} --get-config sloppiness OUTPUT_VARIABLE surrogate_sloppiness
        OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    string(REGEX MATCHALL "[a-z_]+" surrogate_sloppiness "${surrogate_sloppiness}")
    list(APPEND surrogate_sloppiness pch_defines time_macros include_file_mtime include_file_ctime)
    list(REMOVE_DUPLICATES surrogate_sloppiness)
    list(JOIN surrogate_sloppiness "," surrogate_sloppiness)
    list(APPEND surrogate_ccache_environment CCACHE_SLOPPINESS=${surrogate_sloppiness})
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>")
endif()

set(surrogate_launcher ${SURROGATE_CCACHE_PROGRAM})
if(surrogate_ccache_environment)
    list(PREPEND surrogate_launcher ${CMAKE_COMMAND} -E env ${surrogate_ccache_environment})
endif()
foreach(language C CXX CUDA)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${surrogate_launcher})
endforeach()
surrogate_report(ccache ON "${SURROGATE_CCACHE_PROGRAM}")
