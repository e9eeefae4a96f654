# SPDX-License-Identifier: Apache-2.0
# cmake -DREPORTS=<report>,.. -DSOURCES=<.cu>,.. -DIMAGES=<architecture>,.. -DFILTER=<c++filt> -P device_resources.cmake
# Reads what ptxas reported of every kernel (keep_report.sh), prints it as a table, and fails on registers spilled to
# memory, on arrays in local memory (a stack frame), and on a kernel that is missing for one of the architectures.
# A kernel without __launch_bounds__ must leave room for any block: 64 registers x 1024 threads.
cmake_minimum_required(VERSION 3.25)

# Exceptions: <expression for the mangled name>=<bytes of stack>=<bytes spilled>, each with its reason above it.
set(exceptions)
# Width 128 (models of 65 to 128 channels): the 16 x 128 floats of a tile take 64 registers of every thread, and fp32
# has three pieces of each operand beside them. Some dozen words once a tile, against thousands of products; width 64,
# which trained models have, keeps everything in registers.
list(APPEND exceptions "encode_kernel.*OperandE0ELi128E=136=584" "encode_kernel.*OperandE[123]ELi128E=8=32"
    "decode_kernel.*OperandE0ELi128E=56=172" "begin_kernel.*OperandE0ELi128E=56=164" "end_kernel.*OperandE0ELi128E=16=52")

# Sine and cosine of any angle: the reduction of angles beyond 105615 works on an array, and so do the positions of a leaf.
list(APPEND exceptions "sequoia.*begin_kernel=64=0" "bsa.*begin_kernel=32=0")

# Wide layers of tf32: what is known of a block before and behind its products, none of it in the loop over inputs.
list(APPEND exceptions "linear_kernel.*OperandE1ELb0E=56=148" "linear_kernel.*OperandE1ELb1E=32=56")

# Ball Sparse Attention, tf32 and heads above 16 channels in fp32: a few words, where 128 registers let two blocks share a
# multiprocessor and the compiler takes that.
list(APPEND exceptions "bsa.*attend_kernel.*OperandE1=16=32" "bsa.*attend_kernel.*OperandE0ELi16=24=112")

# HEPT, heads of 64 channels: two words that a chunk of 64 keys needs once, none in the loop over keys.
list(APPEND exceptions "hept.*attend_kernelILi64E=8=24")

foreach(list REPORTS SOURCES IMAGES)
    string(REPLACE "," ";" ${list} "${${list}}")
endforeach()

# Kernels of the sources that say nothing of their block size.
set(without_bounds)
foreach(source IN LISTS SOURCES)
    file(READ ${source} text)
    string(REGEX MATCHALL "__global__ void [a-z0-9_]+\\(" found "${text}")
    foreach(head IN LISTS found)
        if(NOT head MATCHES "__launch_bounds__\\($")
            string(REGEX REPLACE "__global__ void ([a-z0-9_]+)\\(" "\\1" name "${head}")
            string(LENGTH ${name} length)
            list(APPEND without_bounds ${length}${name})
        endif()
    endforeach()
endforeach()

# readable(<mangled name> <out>): kernel and template arguments, without namespaces and parameters.
function(readable name out)
    set(text ${name})
    set(n_operand 0)
    if(FILTER)
        execute_process(COMMAND ${FILTER} ${name} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE)
        # The last word before the parameters, that is before the last "(" of "void a::b<(E)1, 64>(c::d)".
        string(REGEX REPLACE "\\([^()]*\\)$" "" text "${text}")
        string(REGEX REPLACE "\\(anonymous namespace\\)::|[a-z_]+::|^void " "" text "${text}")
        foreach(operand fp32 tf32 fp16 bf16)   # as in kernels/device/operand.hpp
            string(REPLACE "(Operand)${n_operand}" ${operand} text "${text}")
            math(EXPR n_operand "${n_operand} + 1")
        endforeach()
    endif()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# padded(<text> <width> <out>)
function(padded text width out)
    string(LENGTH "${text}" length)
    if(length LESS width)
        math(EXPR missing "${width} - ${length}")
        string(REPEAT " " ${missing} spaces)
        string(APPEND text "${spaces}")
    endif()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

set(n_wrong 0)
macro(wrong)
    message(NOTICE "wrong: ${ARGN}")
    math(EXPR n_wrong "${n_wrong} + 1")
endmacro()

message(NOTICE "kernel                                        image   registers  shared  barriers  stack  spilled")
set(kernels)
foreach(report IN LISTS REPORTS)
    if(NOT EXISTS ${report})
        wrong("${report} does not exist; it is written when the source beside it is compiled")
        continue()
    endif()
    file(STRINGS ${report} lines)
    if(NOT lines MATCHES "Used [0-9]+ registers")
        wrong("no kernel in ${report}; was its compilation broken off?")
    endif()
    set(name)
    foreach(line IN LISTS lines)
        if(line MATCHES "Compiling entry function '([^']+)' for '([^']+)'")
            set(name ${CMAKE_MATCH_1})
            set(image ${CMAKE_MATCH_2})
        elseif(line MATCHES "([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads")
            set(stack ${CMAKE_MATCH_1})
            math(EXPR spilled "${CMAKE_MATCH_2} + ${CMAKE_MATCH_3}")
        elseif(name AND line MATCHES "Used ([0-9]+) registers")
            set(registers ${CMAKE_MATCH_1})
            set(shared 0)
            if(line MATCHES "([0-9]+) bytes smem")
                set(shared ${CMAKE_MATCH_1})
            endif()
            set(barriers 0)
            if(line MATCHES "used ([0-9]+) barriers")
                set(barriers ${CMAKE_MATCH_1})
            endif()
            readable(${name} text)
            padded("${text}" 46 row)
            foreach(column "${image}" "${registers}" "${shared}" "${barriers}" "${stack}" "${spilled}")
                padded("${column}" 9 column)
                string(APPEND row "${column}")
            endforeach()
            message(NOTICE "${row}")
            list(APPEND kernels ${name})
            list(APPEND kernels_${image} ${name})

            set(allowed_stack 0)
            set(allowed_spilled 0)
            foreach(exception IN LISTS exceptions)
                string(REPLACE "=" ";" exception "${exception}")
                list(GET exception 0 expression)
                if(name MATCHES "${expression}")
                    list(GET exception 1 allowed_stack)
                    list(GET exception 2 allowed_spilled)
                endif()
            endforeach()
            if(spilled GREATER allowed_spilled)
                wrong("${text} for ${image} spills ${spilled} bytes of registers, ${allowed_spilled} allowed")
            endif()
            if(stack GREATER allowed_stack)
                wrong("${text} for ${image} keeps ${stack} bytes in local memory, ${allowed_stack} allowed")
            endif()
            foreach(part IN LISTS without_bounds)
                string(FIND ${name} ${part} at)
                if(NOT at EQUAL -1 AND registers GREATER 64)
                    wrong("${text} for ${image} takes ${registers} registers and names no block size")
                endif()
            endforeach()
            set(name)
        endif()
    endforeach()
endforeach()

list(REMOVE_DUPLICATES kernels)
list(LENGTH kernels n_kernel)
foreach(image IN LISTS IMAGES)
    string(REGEX REPLACE "-(real|virtual)$" "" image ${image})
    list(LENGTH kernels_sm_${image} n_image)
    if(NOT n_image EQUAL n_kernel)
        wrong("${n_image} of ${n_kernel} kernels are there for sm_${image}")
    endif()
endforeach()
if(n_wrong GREATER 0)
    message(FATAL_ERROR "${n_wrong} things are wrong")
endif()
list(LENGTH IMAGES n_image)
message(NOTICE "${n_kernel} kernels for ${n_image} architectures: no spills, no local memory but the exceptions named")
