# SPDX-License-Identifier: Apache-2.0
# The table that ends a configuration: what is built, what is not, and why not.

# surrogate_report(<name> <is built> <detail>): a row of the table. The detail of what is built says where it was found,
# of what is not, why and what would help.
function(surrogate_report name is_built detail)
    set(state off)
    if(is_built)
        set(state on)
    endif()
    surrogate_report_line("${name}" ${state} "${detail}")
endfunction()

# surrogate_report_line(<name> <state> <detail>): the same with any word, or "", as its state.
function(surrogate_report_line name state detail)
    string(LENGTH "${name}" n_name)
    math(EXPR n_blank "12 - ${n_name}")
    string(REPEAT " " ${n_blank} blank)
    string(SUBSTRING "${state}    " 0 4 state)
    set_property(GLOBAL APPEND_STRING PROPERTY SURROGATE_REPORT "  ${name}${blank}${state} ${detail}\n")
endfunction()

function(surrogate_print_report)
    get_property(table GLOBAL PROPERTY SURROGATE_REPORT)
    message(STATUS "libsurrogate ${PROJECT_VERSION}\n${table}")
endfunction()
