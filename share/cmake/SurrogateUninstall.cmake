# SPDX-License-Identifier: Apache-2.0
# Target uninstall: removes what the last `cmake --install` put in place, and the folders that installing made, once they
# are empty. To be included before anything that installs, so that folders are looked at first.
set(surrogate_destinations ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_LIBDIR}/cmake/surrogate
    ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_INCLUDEDIR}/surrogate ${CMAKE_INSTALL_DATADIR}/surrogate/models
    ${CMAKE_INSTALL_DATADIR}/surrogate/examples ${CMAKE_INSTALL_DOCDIR})
install(CODE "set(SURROGATE_RECORD \"${PROJECT_BINARY_DIR}/install_folders\")
set(SURROGATE_DESTINATIONS \"${surrogate_destinations}\")" ALL_COMPONENTS)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_folders.cmake ALL_COMPONENTS)

if(PROJECT_IS_TOP_LEVEL AND NOT TARGET uninstall)
    add_custom_target(uninstall
        COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
            -DFOLDERS=${PROJECT_BINARY_DIR}/install_folders.txt -P ${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake
        COMMENT "Removing what the last installation put in place" VERBATIM USES_TERMINAL)
endif()
