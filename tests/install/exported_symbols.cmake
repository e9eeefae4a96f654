# SPDX-License-Identifier: Apache-2.0
# cmake -DLIBRARY=<shared library> -DNM=<nm> -DHEADERS=<header>,.. -DVERSION_NAME=<SURROGATE_0.1> -P exported_symbols.cmake
# The library exports the functions its headers declare, all of them and nothing else, each under the name of the version.
cmake_minimum_required(VERSION 3.25)

set(declared)
string(REPLACE "," ";" HEADERS "${HEADERS}")
foreach(header IN LISTS HEADERS)
    file(READ ${header} text)
    string(REGEX REPLACE "\n#[^\n]*" "\n" text "${text}")   # the macro's own definition
    string(REGEX MATCHALL "SURROGATE[A-Z_]*API[^;(]*\\(" declarations "${text}")
    foreach(declaration IN LISTS declarations)
        string(REGEX REPLACE ".*[ \n*](surrogate_[a-z0-9_]+)\\($" "\\1" name "${declaration}")
        list(APPEND declared ${name})
    endforeach()
endforeach()
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" exported "${table}")
list(TRANSFORM exported STRIP)
list(REMOVE_ITEM exported ${VERSION_NAME})   # the name itself is an entry of the table
set(unversioned ${exported})
list(FILTER unversioned EXCLUDE REGEX "@@${VERSION_NAME}$")
if(unversioned OR NOT VERSION_NAME)
    message(FATAL_ERROR "exported under another version than ${VERSION_NAME}: ${unversioned}")
endif()
list(TRANSFORM exported REPLACE "@@${VERSION_NAME}$" "")
list(LENGTH declared n_declared)
if(n_declared EQUAL 0)
    message(FATAL_ERROR "no declaration found in ${HEADERS}")
endif()

set(missing ${declared})
list(REMOVE_ITEM missing ${exported})
set(undeclared ${exported})
list(REMOVE_ITEM undeclared ${declared})
if(missing OR undeclared)
    message(FATAL_ERROR "declared, not exported: ${missing}\nexported, not declared: ${undeclared}")
endif()
message(NOTICE "${n_declared} functions declared and exported")
