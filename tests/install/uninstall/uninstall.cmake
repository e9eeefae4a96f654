# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=<this folder> -DMODULES=<share/cmake> -DWORK=<scratch folder> -P uninstall.cmake
# The target uninstall: removes what was installed and the folders that were made for it, and nothing else; fails if nothing
# was installed.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
set(prefix "${WORK}/a prefix")

function(run)
    execute_process(COMMAND ${ARGN} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(expect what)
    if(NOT (${ARGN}))
        file(GLOB_RECURSE there LIST_DIRECTORIES TRUE ${WORK}/a*/*)
        message(FATAL_ERROR "${what}\nthere are: ${there}")
    endif()
endfunction()
function(expect_refusal)
    execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build --target uninstall RESULT_VARIABLE failed
        OUTPUT_VARIABLE text ERROR_VARIABLE text)
    string(REGEX REPLACE "[ \n]+" " " text "${text}")
    expect("refused with: ${text}" failed AND text MATCHES "nothing to uninstall.*missing or empty")
endfunction()

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DMODULES=${MODULES} "-DCMAKE_INSTALL_PREFIX=${prefix}")
expect_refusal()

# Into nothing: everything goes, the prefix too.
run(${CMAKE_COMMAND} --install ${WORK}/build)
expect("installed" EXISTS "${prefix}/share/surrogate/examples/one/CMakeLists.txt" AND
    EXISTS "${prefix}/share/doc/surrogate/a page.md")
run(${CMAKE_COMMAND} --build ${WORK}/build --target uninstall)
expect("the prefix is gone" NOT EXISTS "${prefix}")
expect("what is above stays" EXISTS "${WORK}")
expect_refusal()

# Among other people's files, twice over: those stay, with their folders, also empty ones and hidden files.
file(WRITE "${prefix}/share/surrogate/examples/one/.mine" "")
file(MAKE_DIRECTORY "${prefix}/share/doc/surrogate")
run(${CMAKE_COMMAND} --install ${WORK}/build)
run(${CMAKE_COMMAND} --install ${WORK}/build)
file(REMOVE "${prefix}/share/surrogate/examples/one/CMakeLists.txt")   # gone before: no reason to fail
run(${CMAKE_COMMAND} --build ${WORK}/build --target uninstall)
expect("our page is gone" NOT EXISTS "${prefix}/share/doc/surrogate/a page.md")
expect("their file stays" EXISTS "${prefix}/share/surrogate/examples/one/.mine")
expect("their folder stays" IS_DIRECTORY "${prefix}/share/doc/surrogate")

# A staged installation, and an empty manifest.
run(${CMAKE_COMMAND} -E env "DESTDIR=${WORK}/a stage" ${CMAKE_COMMAND} --install ${WORK}/build)
expect("staged" EXISTS "${WORK}/a stage${prefix}/share/doc/surrogate/a page.md")
run(${CMAKE_COMMAND} -E env "DESTDIR=${WORK}/a stage" ${CMAKE_COMMAND} --build ${WORK}/build --target uninstall)
expect("the stage is empty" NOT EXISTS "${WORK}/a stage")
file(WRITE ${WORK}/build/install_manifest.txt "")
expect_refusal()
