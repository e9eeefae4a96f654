# SPDX-License-Identifier: Apache-2.0
# cmake -DTREE=<source tree> -P layering.cmake
# Reads #include lines: kernels -> libsurrogate -> coupling -> examples, a layer includes only what stands to its left.
# A rule is a folder and the expression that its includes of ours must match; the longest folder counts. An include is
# ours if it names a layer or a public header; includes in quotes without a folder are of the same folder and must exist.
cmake_minimum_required(VERSION 3.25)

set(public "surrogate/surrogate[a-z_]*\\.(h|hpp)")
set(rules
    "kernels/base"            "kernels/base/"
    "kernels"                 "kernels/"
    "libsurrogate/include"    "${public}"
    "libsurrogate/src/core"   "kernels/base/|libsurrogate/src/core/|${public}"
    "libsurrogate/src/model"  "kernels/base/|kernels/([a-z]+)/[a-z]+(_device)?\\.hpp|libsurrogate/src/(core|model)/|${public}"
    "libsurrogate/src/plugin" "kernels/|libsurrogate/src/(core|plugin)/"
    "libsurrogate/src/dist"   "kernels/base/|libsurrogate/src/(core|dist)/|${public}"
    "libsurrogate/src/api"    "kernels/base/|libsurrogate/src/|${public}"
    "coupling/file"           "coupling/file/"
    "coupling/tool"           "coupling/(tool|vtk|file)/|${public}"
    "coupling/vtk"            "coupling/(vtk|file)/|${public}"
    "coupling/petsc"          "coupling/petsc/|${public}"
    "examples"                "${public}")
set(ours "^(kernels|libsurrogate|coupling|examples|tests|benchmarks|surrogate)/")
# The only places that know MPI.
set(may_use_mpi "^(libsurrogate/src/dist/|libsurrogate/src/api/api_mpi|libsurrogate/include/surrogate/surrogate_mpi|coupling/petsc/|coupling/tool/job|examples/)")

# rule_of(<file> <out>): the expression of the longest folder that holds the file.
function(rule_of file out)
    set(longest -1)
    set(copy ${rules})
    while(copy)
        list(POP_FRONT copy folder expression)
        string(LENGTH ${folder} length)
        string(FIND ${file} ${folder}/ at)
        if(at EQUAL 0 AND length GREATER longest)
            set(longest ${length})
            set(${out} ${expression} PARENT_SCOPE)
        endif()
    endwhile()
    if(longest EQUAL -1)
        set(${out} "a rule for this folder" PARENT_SCOPE)
    endif()
endfunction()

file(GLOB_RECURSE files RELATIVE ${TREE} ${TREE}/kernels/*.[ch]* ${TREE}/libsurrogate/*.[ch]* ${TREE}/coupling/*.[ch]*
    ${TREE}/examples/*.[ch]*)
list(FILTER files INCLUDE REGEX "\\.(h|hpp|c|cpp|cu|cuh)$")
set(n_include 0)
set(n_wrong 0)
foreach(file IN LISTS files)
    rule_of(${file} allowed)
    cmake_path(GET file PARENT_PATH folder)
    file(STRINGS ${TREE}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "^[^<\"]*([<\"])([^>\"]*).*$" "\\1;\\2" parts "${line}")
        list(POP_FRONT parts mark name)
        math(EXPR n_include "${n_include} + 1")
        set(is_right TRUE)
        if(name MATCHES "(^|/)\\.\\./")
            set(is_right FALSE)
        elseif(name MATCHES "${ours}")
            if(NOT name MATCHES "^(${allowed})")
                set(is_right FALSE)
            endif()
        elseif(mark STREQUAL "\"" AND NOT EXISTS ${TREE}/${folder}/${name})
            set(is_right FALSE)
        elseif(name STREQUAL "mpi.h" AND NOT file MATCHES "${may_use_mpi}")
            set(is_right FALSE)
        endif()
        if(NOT is_right)
            message(NOTICE "${file} includes ${name}")
            math(EXPR n_wrong "${n_wrong} + 1")
        endif()
    endforeach()
endforeach()

list(LENGTH files n_file)
if(n_include EQUAL 0)
    message(FATAL_ERROR "no include found in ${n_file} files under ${TREE}")
elseif(n_wrong GREATER 0)
    message(FATAL_ERROR "${n_wrong} includes point the wrong way (or to nothing)")
endif()
message(NOTICE "${n_include} includes in ${n_file} files point the right way")
