! SPDX-License-Identifier: Apache-2.0
! Must not compile: the memory of an expression ends with the call, and the plan would keep its address.
program temporaries
    use surrogate
    implicit none
    type(surrogate_plan) :: plan
    real, target :: a(4)
    call surrogate_plan_bind_input(plan, "mobility", 2 * a)
end program
