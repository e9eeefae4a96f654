# SPDX-License-Identifier: Apache-2.0
# cmake -DNVCC=<nvcc> -DCCACHE=<ccache> -DKEEP=<keep_report.sh> -DWORK=<scratch folder> -P report.cmake
# Checks that the report of ptxas is kept beside the object of a kernel, also if ccache has the
# object.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/kernel.cu "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n")
set(ENV{CCACHE_DIR} ${WORK}/cache)
foreach(object first second)
    execute_process(COMMAND sh ${KEEP} ${CCACHE} ${NVCC} -Xptxas=-v -arch=sm_80 -c kernel.cu -o ${object}.o
        WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
    file(READ ${WORK}/${object}.o.report ${object})
endforeach()
execute_process(COMMAND ${CCACHE} --print-stats OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
if(NOT table MATCHES "direct_cache_hit\t1" OR NOT first MATCHES "ptxas info.*twice.*Used [0-9]+ registers" OR
        NOT first STREQUAL second)
    message(FATAL_ERROR "first: ${first}\nsecond: ${second}\n${table}")
endif()
