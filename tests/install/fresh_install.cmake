# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=<build tree> -DPREFIX=<folder> [-DUNINSTALL=<uninstall.cmake>] -P fresh_install.cmake
# Installs into a folder that is removed first, component by component as packages do: their manifests are not the one that
# the target uninstall reads, so that a developer's own installation is not forgotten. UNINSTALL: takes everything back
# again, and nothing must be left.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${PREFIX})
set(manifest "")
set(folders "")
foreach(component library tools development cuda)
    file(REMOVE ${BUILD}/install_folders_${component}.txt)
    execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} --component ${component} OUTPUT_QUIET
        COMMAND_ERROR_IS_FATAL ANY)
    foreach(list manifest folders)
        set(file ${BUILD}/install_${list}_${component}.txt)
        if(EXISTS ${file})
            file(READ ${file} text)
            string(APPEND ${list} "${text}\n")
        endif()
    endforeach()
endforeach()
file(GLOB_RECURSE files ${PREFIX}/*)
list(LENGTH files n_file)
message(NOTICE "${n_file} files installed")

# Every file belongs to a package: without components nothing more is installed.
file(REMOVE_RECURSE ${PREFIX}.all)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}.all --component Unspecified OUTPUT_QUIET
    COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE stray ${PREFIX}.all/*)
file(REMOVE_RECURSE ${PREFIX}.all)
if(stray)
    message(FATAL_ERROR "in no component: ${stray}")
endif()

if(UNINSTALL)
    file(WRITE ${PREFIX}.manifest.txt "${manifest}")
    file(WRITE ${PREFIX}.folders.txt "${folders}")
    execute_process(COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PREFIX}.manifest.txt -DFOLDERS=${PREFIX}.folders.txt
        -P ${UNINSTALL} COMMAND_ERROR_IS_FATAL ANY)
    if(n_file LESS 20 OR EXISTS ${PREFIX})
        file(GLOB_RECURSE files LIST_DIRECTORIES TRUE ${PREFIX}/*)
        message(FATAL_ERROR "of ${n_file} files are left: ${files}")
    endif()
endif()
