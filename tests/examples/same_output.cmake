# SPDX-License-Identifier: Apache-2.0
# cmake -DLAUNCHER=<mpirun and options, ;-separated, without the number of ranks> -DRANKS=<n>,.. -DCOMMAND=<program>;<argument>.. -P same_output.cmake
# The command prints the same text on each number of ranks; it is printed once.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" RANKS "${RANKS}")
set(first)
foreach(ranks IN LISTS RANKS)
    execute_process(COMMAND ${LAUNCHER} ${ranks} ${COMMAND} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    if(NOT first)
        set(first "${text}")
        message(NOTICE "${text}")
    elseif(NOT text STREQUAL first)
        message(FATAL_ERROR "another text on ${ranks} ranks:\n${text}")
    endif()
endforeach()
