# SPDX-License-Identifier: Apache-2.0
# surrogate_find_mpi_make(<variable> <folder of mpi.h>...): OPEN_MPI or MPICH (Intel MPI, MVAPICH and others share its binary
# interface), or empty if no mpi.h of these is in the folders. Compiles nothing; for the library's own build and for
# projects that ask for the component mpi (it is installed).
function(surrogate_find_mpi_make variable)
    set(${variable} "" PARENT_SCOPE)
    foreach(folder IN LISTS ARGN)
        if(EXISTS "${folder}/mpi.h")
            file(STRINGS "${folder}/mpi.h" lines REGEX "define[ \t]+(OPEN_MPI|MPICH_VERSION|I_MPI_VERSION)[ \t]")
            if(lines MATCHES "OPEN_MPI")
                set(${variable} OPEN_MPI PARENT_SCOPE)
            elseif(lines)
                set(${variable} MPICH PARENT_SCOPE)
            endif()
            return()
        endif()
    endforeach()
endfunction()
