! SPDX-License-Identifier: Apache-2.0
! Without status an error ends the program with the library's text; so does an assignment.
!   stops no_file | assignment
program stops
    use surrogate
    implicit none
    type(surrogate_context) :: context, other
    type(surrogate_model) :: model
    character(len=16) :: what
    call get_command_argument(1, what)
    other = context   ! nothing is in them
    call surrogate_context_create(context)
    if (what == "no_file") call surrogate_model_load(model, context, "no such file")
    if (what == "assignment") other = context
    print '(a)', "went on"
end program
