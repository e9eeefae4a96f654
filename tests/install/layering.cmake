# SPDX-License-Identifier: Apache-2.0
# cmake -DTREE=<source tree> -P layering.cmake
# Reads #include lines: kernels -> libsurrogate -> coupling -> examples, a layer includes only what stands to its left.
# A rule is a folder and the expression that its includes of ours must match; the longest folder counts. An include is
# ours if it names a layer or a public header; includes in quotes without a folder are of the same folder and must exist.
# Families do not know of each other, and only the table of families knows them: other code neither includes their
# headers nor names their namespaces, with which a forward declaration would hide an arrow.
# Declarations hide arrows too. A header may declare a type without its definition only if it may include that
# definition, and a factory (make_.., open_.., load_.., create_..) only if a source of its own folder defines it.
cmake_minimum_required(VERSION 3.25)

set(public "surrogate/surrogate[a-z_]*\\.(h|hpp)")
set(base "kernels/(base|device|grid)/")
set(src "libsurrogate/src/")
# Kernels and library folders that all families share; a family adds its own folder of the same name to each.
set(shared_kernels "kernels/(base|device|grid|linear|mlp|norm|activation|attention|embedding|random)/")
set(shared_source "${src}(core|device|context|ranks|file|domain|layers|model/family)/")
set(rules
    "kernels"                 "${shared_kernels}"
    "kernels/base"            "kernels/base/"
    "kernels/device"          "kernels/(base|device)/"
    "kernels/grid"            "kernels/(base|grid)/"
    "kernels/losses"          "kernels/(base|losses)/"
    "libsurrogate/include"    "${public}"
    "${src}core"              "${base}|${src}core/|${public}"
    "${src}device"            "${base}|${src}(core|device)/"
    "${src}context"           "${base}|${src}(core|device|context)/|${public}"
    "${src}transport"         "${base}|${src}(core|device|context|transport)/"
    "${src}ranks"             "${base}|${src}(core|ranks)/"
    "${src}file"              "${base}|${src}(core|file)/|${public}"
    "${src}domain"            "${base}|${src}(core|context|ranks|domain)/|${public}"
    "${src}layers"            "${shared_kernels}|${src}(core|device|ranks|file|domain|layers)/"
    "${src}model/family"      "${base}|${src}(core|device|context|ranks|file|domain|layers|model/family)/|${public}"
    "${src}model"             "${base}|${src}(core|device|context|ranks|file|domain|layers|model|model/family)/[a-z_]+\\.hpp|${public}"
    "${src}plan"              "${base}|${src}(core|device|context|ranks|file|domain|model/family)/|${src}plan/|${src}model/[a-z_]+\\.hpp|${public}"
    "${src}plugin"            "${base}|${src}(core|device|plugin)/"
    "${src}train"             "${base}|kernels/losses/|${src}(core|device|context|ranks|file|domain|layers|plan|train)/[a-z_]+\\.hpp|${src}model/(family/)?[a-z_]+\\.hpp|${public}"
    "${src}api"               "${base}|${src}(core|device|context|transport|file|ranks|domain|model|model/family|plan|train|api)/[a-z_]+\\.hpp|${public}"
    "coupling/file"           "coupling/file/|${src}core/new_file\\.hpp"
    "coupling/error"          "coupling/(error|file)/|${public}"
    "coupling/hdf5"           "coupling/(hdf5|error)/|${public}"
    "coupling/dataset"        "coupling/(dataset|hdf5|error|file)/|${public}"
    "coupling/vtk"            "coupling/(vtk|error|file)/|${public}"
    "coupling/figure"         "coupling/(figure|vtk)/|${public}"
    "coupling/job"            "coupling/(job|file)/|${src}core/hidden_characters\\.hpp|${public}"
    "coupling/case"           "coupling/(case|job)/|${public}"
    "coupling/mesh"           "coupling/(mesh|case|job|vtk)/|${public}"
    "coupling/training"       "coupling/(training|job|figure)/|coupling/dataset/read_(file|form)\\.hpp|kernels/hept/metrics\\.hpp|${public}"
    "coupling/spectrum"       "coupling/(spectrum|mesh|case|job|figure)/|${public}"
    "coupling/tool"           "coupling/(tool|spectrum|training|mesh|case|job|vtk)/|coupling/file/|${public}"
    "coupling/petsc"          "coupling/petsc/|${public}"
    "coupling/timeloop"       "coupling/(timeloop|hdf5|error|file)/|${public}"
    "coupling/fortran"        "coupling/fortran/|${public}"
    "coupling/openfoam"       "coupling/openfoam/|${public}"
    "examples"                "${public}")
# The one table of families.
set(table "${src}model/families.cpp")

# A family is a folder below model/ beside the one of their interfaces, with the kernels of the same name if there are any.
file(GLOB families RELATIVE ${TREE}/${src}model LIST_DIRECTORIES TRUE ${TREE}/${src}model/*/)
list(FILTER families EXCLUDE REGEX "\\.|^family$")
foreach(family IN LISTS families)
    list(APPEND rules "kernels/${family}" "${shared_kernels}|kernels/${family}/"
        "${src}model/${family}" "${shared_kernels}|kernels/${family}/|${shared_source}|${src}model/${family}/|${public}")
endforeach()
list(JOIN families "|" any_family)
set(may_name_families "^(coupling|examples)/")

set(ours "^(kernels|libsurrogate|coupling|examples|tests|benchmarks|surrogate)/")
# The only places that know MPI.
set(may_use_mpi "^(libsurrogate/src/transport/|libsurrogate/src/api/api_mpi|libsurrogate/include/surrogate/surrogate_mpi|coupling/petsc/|coupling/job/job|examples/)")

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

# defined_<name>: the folders that define a type or a factory of this name.
set(factory "(make|open|load|create)_[a-z0-9_]+")
function(match_name text expression out)
    string(REGEX MATCH "${expression}" found "${text}")
    set(${out} "${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()
foreach(file IN LISTS files)
    cmake_path(GET file PARENT_PATH folder)
    file(STRINGS ${TREE}/${file} lines REGEX "^(class|struct) [A-Za-z0-9_]+( final)?( *[:{][^:].*| {|)$")
    foreach(line IN LISTS lines)
        match_name("${line}" "^(class|struct) ([A-Za-z0-9_]+)" name)
        list(APPEND defined_${name} ${folder})
    endforeach()
    if(file MATCHES "\\.cpp$")
        file(STRINGS ${TREE}/${file} lines REGEX "^([A-Za-z].*[ *&])?${factory}\\(")
        foreach(line IN LISTS lines)
            match_name("${line}" "(^|[ *&])(${factory})\\(" name)
            list(APPEND defined_${name} ${folder})
        endforeach()
    endif()
endforeach()

set(n_include 0)
set(n_wrong 0)
foreach(file IN LISTS files)
    rule_of(${file} allowed)
    cmake_path(GET file PARENT_PATH folder)
    string(REGEX MATCH "^examples/[^/]+" own_folder ${folder})   # an example includes from its own folder, too
    if(own_folder STREQUAL "")
        set(own_folder ${folder})
    endif()
    if(file STREQUAL table)
        string(APPEND allowed "|${src}model/(${any_family})/network\\.hpp")
    elseif(any_family AND NOT folder MATCHES "/(${any_family})(/|$)" AND NOT file MATCHES "${may_name_families}")
        file(STRINGS ${TREE}/${file} named REGEX "(^|[^a-z_/])(${any_family})(::|[ \t]*{)")
        foreach(line IN LISTS named)
            message(NOTICE "${file} names a family: ${line}")
            math(EXPR n_wrong "${n_wrong} + 1")
        endforeach()
    endif()
    if(file MATCHES "^(kernels|libsurrogate|coupling)/.*\\.hpp$")
        file(STRINGS ${TREE}/${file} lines REGEX "^(class|struct) [A-Za-z0-9_]+;|^([A-Za-z].*[ *&])?${factory}\\(")
        foreach(line IN LISTS lines)
            match_name("${line}" "^(class|struct) ([A-Za-z0-9_]+)" name)
            set(own "^(${allowed})")
            if(name STREQUAL "")
                match_name("${line}" "(^|[ *&])(${factory})\\(" name)
                set(own "^${folder}/")
            endif()
            # A header that defines what it declares has no entry.
            set(folders ${defined_${name}})
            list(TRANSFORM folders APPEND "/any.hpp")
            if(folders)
                list(FILTER folders INCLUDE REGEX "${own}")
                if(NOT folders)
                    list(GET defined_${name} 0 elsewhere)
                    message(NOTICE "${file} declares ${name}, which ${elsewhere} defines")
                    math(EXPR n_wrong "${n_wrong} + 1")
                endif()
            endif()
        endforeach()
    endif()
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
        elseif(mark STREQUAL "\"" AND NOT EXISTS ${TREE}/${folder}/${name} AND NOT EXISTS ${TREE}/${own_folder}/${name})
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
    message(FATAL_ERROR "${n_wrong} arrows point the wrong way (or to nothing)")
endif()
message(NOTICE "${n_include} includes in ${n_file} files point the right way")
