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
