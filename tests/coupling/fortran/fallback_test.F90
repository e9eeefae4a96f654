! SPDX-License-Identifier: Apache-2.0
! The modules for compilers without assumed rank: the same calls, arrays by their addresses. Fortran 2003.
!   fallback_test <model>
program fallback_test
    use, intrinsic :: iso_c_binding
    use surrogate
    implicit none
    integer, parameter :: dp = c_double, n_x = 5, n_y = 4
    type(surrogate_context) :: context
    type(surrogate_model) :: model
    type(surrogate_domain) :: domain
    type(surrogate_plan) :: plan
    real(dp), target :: x(2, n_x, n_y), a(0:n_x + 1, 0:n_y + 1), p(n_x, n_y), q(0:n_x + 1, n_y)
    integer(c_int), target :: ids(n_x * n_y)
    integer(c_int) :: status
    character(len=1024) :: path
    integer :: i, j

    call get_command_argument(1, path)
    do j = 1, n_y
        do i = 1, n_x
            x(:, i, j) = (/i / 5.0_dp, j / 4.0_dp/)
            ids((j - 1) * n_x + i) = i + 100 * j
        end do
    end do
    a = 3
    a(2:3, 2:3) = 12
    p = -1
    q = -1
    call surrogate_context_create(context, options="threads=1")
    call surrogate_model_load(model, context, path)
    call surrogate_domain_create_points(domain, context, surrogate_make_array(c_loc(x(1, 1, 1)), (/2, n_x, n_y/)), &
        surrogate_make_array(c_loc(ids(1)), (/n_x * n_y/), dtype=surrogate_int32))
    call surrogate_plan_create(plan, model, domain)
    call surrogate_plan_bind_input(plan, "mobility", &
        surrogate_make_array(c_loc(a(1, 1)), (/n_x, n_y/), (/1, n_x + 2/)), "m^2/(Pa s)")
    call surrogate_plan_bind_output(plan, "pressure", surrogate_make_array(c_loc(p(1, 1)), (/n_x, n_y/)), "Pa")
    call surrogate_plan_run(plan)
    call surrogate_plan_bind_output(plan, "pressure", &
        surrogate_make_array(c_loc(q(1, 1)), (/n_x, n_y/), (/1, n_x + 2/)), "Pa")
    call surrogate_plan_run(plan)
    call surrogate_plan_bind_input(plan, "mobility", surrogate_make_array(c_loc(ids(1)), (/n_x * n_y/), &
        dtype=surrogate_int32), status=status)
    if (status == surrogate_invalid_argument .and. maxval(p) > minval(p) .and. all(q(1:n_x, :) == p) &
        .and. all(q(0, :) == -1) .and. index(surrogate_error(), "found numbers of 4 bytes") > 0) then
        print '(a)', "all as expected"
    else
        print '(2a)', "not as expected: ", surrogate_error()
    end if
    call surrogate_model_load(model, context, "no such file")
end program
