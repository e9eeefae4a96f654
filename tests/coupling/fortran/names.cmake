# SPDX-License-Identifier: Apache-2.0
# cmake -DHEADERS=<header>,.. -DSOURCES=<module>,.. [-DLIBRARY=<shared library> -DNM=<nm>] -P names.cmake
# Checks that the modules have every function that the headers declare, under its name, and no other function except those
# listed here. With LIBRARY: checks that procedures of the modules that are not generic are exported.
cmake_minimum_required(VERSION 3.25)

# Not in the modules, and why.
set(left_out
    surrogate_context_create_mpi surrogate_context_create_fint # generic surrogate_context_create
    surrogate_plan_open_mpi surrogate_plan_open_fint           # generic surrogate_plan_open
    surrogate_context_comm                                     # C's MPI_Comm
    surrogate_context_compare_comm surrogate_plan_compare_comm # C's MPI_Comm
    surrogate_timeloop_plan)                                   # borrowed: an object of Fortran would destroy it
# In the modules alone: what makes arguments that C fills in as structs, and texts of C.
set(added surrogate_array_of surrogate_make_array surrogate_text surrogate_error_of surrogate_make_tensor
    surrogate_make_named_array surrogate_make_vec surrogate_make_series_field surrogate_make_png_panel surrogate_log_function
    surrogate_fallback_function)

function(read_all files out)
    set(all "")
    string(REPLACE "," ";" files "${files}")
    foreach(file IN LISTS files)
        file(READ ${file} text)
        string(APPEND all "\n${text}")
    endforeach()
    set(${out} "${all}" PARENT_SCOPE)
endfunction()

read_all("${HEADERS}" headers)
string(REGEX REPLACE "\n#[^\n]*" "\n" headers "${headers}")
string(REGEX MATCHALL "SURROGATE[A-Z_]*API[^;(]*\\(" declarations "${headers}")
set(declared)
foreach(declaration IN LISTS declarations)
    string(REGEX REPLACE ".*[ \n*](surrogate_[a-z0-9_]+)\\($" "\\1" name "${declaration}")
    list(APPEND declared ${name})
endforeach()

read_all("${SOURCES}" modules)
string(REGEX MATCHALL "\n +(subroutine|function|interface) surrogate_[a-z0-9_]+" found "${modules}")
set(generic "${found}")
list(FILTER generic INCLUDE REGEX "interface")
list(TRANSFORM found REPLACE ".* " "")
list(TRANSFORM generic REPLACE ".* " "")
list(REMOVE_DUPLICATES found)

set(missing ${declared})
list(REMOVE_ITEM missing ${found} ${left_out})
set(unknown ${found})
list(REMOVE_ITEM unknown ${declared} ${added})
set(both ${left_out})
list(REMOVE_ITEM both ${found})
if(missing OR unknown OR NOT "${both}" STREQUAL "${left_out}")
    message(FATAL_ERROR "in headers, not in modules: ${missing}\nin modules, in no header: ${unknown}\n\
left out, and yet there: ${left_out} without ${both}")
endif()

if(LIBRARY)
    string(REPLACE "," ";" libraries "${LIBRARY}")
    execute_process(COMMAND ${NM} -D --defined-only ${libraries} OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
    set(hidden)
    foreach(name IN LISTS declared)
        if(name IN_LIST found AND NOT name IN_LIST generic AND NOT table MATCHES "_MOD_${name}@@SURROGATE_[0-9.]+\n")
            list(APPEND hidden ${name})
        endif()
    endforeach()
    if(hidden)
        message(FATAL_ERROR "not exported: ${hidden}")
    endif()
endif()
list(LENGTH found n_found)
message(NOTICE "${n_found} procedures, as in the headers")
