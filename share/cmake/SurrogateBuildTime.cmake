# SPDX-License-Identifier: Apache-2.0
# Shortens a first build: most of the time of a file goes into standard headers and into templates that its neighbors
# instantiate as well.
#
#   SURROGATE_UNITY                      compiles up to eight neighboring sources as one; OFF compiles each alone, which is
#                                        faster after an edit of one file
#   surrogate_group_sources(<target>)    groups the sources of a target by folder; call it after the last source was added
#   surrogate_compile_together(<target>) the same, and precompiles the standard headers
option(SURROGATE_UNITY "Compile neighboring sources together: a shorter first build, a longer one after an edit" ON)
set(surrogate_standard_headers <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory>
    <optional> <span> <stdexcept> <string> <string_view> <utility> <vector>)

# The compiler takes sources that are compiled together for headers, whose types must not be in anonymous namespaces.
set(surrogate_unity_warnings "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND surrogate_unity_warnings $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        # GCC 12 follows std::string's short buffer into long strings (GCC bug 105329).
        list(APPEND surrogate_unity_warnings $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds>
            $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overread> $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow>)
    endif()
endif()

function(surrogate_compile_together target)
    target_precompile_headers(${target} PRIVATE ${surrogate_standard_headers})
    surrogate_group_sources(${target})
endfunction()

function(surrogate_group_sources target)
    if(NOT SURROGATE_UNITY)
        return()
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    target_compile_options(${target} PRIVATE ${surrogate_unity_warnings})
    get_target_property(sources ${target} SOURCES)
    get_target_property(home ${target} SOURCE_DIR)
    set(folders "")
    foreach(source IN LISTS sources)
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${home} NORMALIZE)
        cmake_path(GET source PARENT_PATH folder)
        cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
        string(MAKE_C_IDENTIFIER "${folder}" folder)
        if(source MATCHES "\\.cpp$")
            list(APPEND in_${folder} ${source})
            list(APPEND folders ${folder})
        endif()
    endforeach()
    list(REMOVE_DUPLICATES folders)
    foreach(folder IN LISTS folders)
        set(number 0)
        foreach(source IN LISTS in_${folder})
            math(EXPR group "${number} / 8")
            math(EXPR number "${number} + 1")
            set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${folder}_${group})
        endforeach()
    endforeach()
endfunction()
