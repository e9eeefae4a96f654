# SPDX-License-Identifier: Apache-2.0
# Exported symbols of the shared libraries, and the packages in which they are installed.

# Packages (SurrogatePackages.cmake) are components of the installation: library, tools, cuda, torch, development; the last is
# where everything goes that names none.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

# surrogate_export_symbols(<target> [<pattern>]): shows what the pattern names, by default surrogate_*, as versioned symbols.
function(surrogate_export_symbols target)
    set(surrogate_exports "surrogate_*")
    set(map exports.map)
    if(ARGC GREATER 1)
        set(surrogate_exports "${ARGV1}")
        set(map ${target}.map)
    endif()
    configure_file(${PROJECT_SOURCE_DIR}/share/cmake/exports.map.in ${PROJECT_BINARY_DIR}/exports/${map} @ONLY)
    target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_BINARY_DIR}/exports/${map})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${PROJECT_BINARY_DIR}/exports/${map})
endfunction()

# surrogate_install_library(<target> <export>): its link for compilers goes with the headers.
function(surrogate_install_library target export)
    install(TARGETS ${target} EXPORT ${export} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        NAMELINK_COMPONENT development)
endfunction()

# surrogate_public_library(surrogate_<part> [EXPORTS <pattern>] [HEADERS <file>..]): a shared library beside libsurrogate,
# surrogate::<part> for its users. HEADERS are in include/surrogate.
function(surrogate_public_library target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXPORTS" "HEADERS")
    string(REGEX REPLACE "^surrogate_" "" part ${target})
    add_library(surrogate::${part} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${part} VERSION ${PROJECT_VERSION}
        SOVERSION ${SURROGATE_SOVERSION})
    target_link_options(${target} PRIVATE -Wl,--no-undefined ${surrogate_stays})
    surrogate_export_symbols(${target} ${arg_EXPORTS})
    surrogate_install_library(${target} surrogate-${part})
    if(arg_HEADERS)
        target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
        list(TRANSFORM arg_HEADERS PREPEND include/surrogate/)
        install(FILES ${arg_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/surrogate)
    endif()
endfunction()
