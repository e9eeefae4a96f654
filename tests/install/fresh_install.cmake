# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=<build tree> -DPREFIX=<folder> [-DUNINSTALL=<uninstall.cmake>] -P fresh_install.cmake
# Installs into a folder that is removed first. With a component's name (all is in CMake's default one) the manifest is not
# the one that the target uninstall reads: a developer's own installation is not forgotten. UNINSTALL: takes everything back
# again, and nothing must be left.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} --component Unspecified OUTPUT_QUIET
    COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE files ${PREFIX}/*)
list(LENGTH files n_file)
message(NOTICE "${n_file} files installed")
if(UNINSTALL)
    execute_process(COMMAND ${CMAKE_COMMAND} -DMANIFEST=${BUILD}/install_manifest_Unspecified.txt
        -DFOLDERS=${BUILD}/install_folders_Unspecified.txt -P ${UNINSTALL} COMMAND_ERROR_IS_FATAL ANY)
    if(n_file LESS 20 OR EXISTS ${PREFIX})
        file(GLOB_RECURSE files LIST_DIRECTORIES TRUE ${PREFIX}/*)
        message(FATAL_ERROR "of ${n_file} files are left: ${files}")
    endif()
endif()
