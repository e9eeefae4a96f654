! SPDX-License-Identifier: Apache-2.0
! The time loop from Fortran: steps and outcomes, a fallback of the solver's own, marks, texts. What the guards find is tested
! in tests/coupling/timeloop.
!   loop_test <model>
program loop_test
    use, intrinsic :: iso_c_binding
    use surrogate
    use surrogate_loop
    use checks
    implicit none
    integer, parameter :: dp = c_double, n_x = 5, n_y = 4
    type(surrogate_plan) :: plan
    type(surrogate_timeloop) :: loop
    real(dp), target :: x(2, n_x, n_y), a(0:n_x + 1, 0:n_y + 1), p(0:n_x + 1, 0:n_y + 1), age(n_x, n_y)
    real(dp) :: before(n_x, n_y), time_s
    integer, target :: n_own
    integer(c_int64_t) :: step, n_done, value
    integer(c_int) :: outcome, status
    type(surrogate_guard_info) :: guard
    character(len=:), allocatable :: text
    character(len=1024) :: path
    integer :: i, j

    call get_command_argument(1, path)
    do j = 1, n_y
        do i = 1, n_x
            x(:, i, j) = [(i - 0.5_dp) / n_x, (j - 0.5_dp) / n_y]
        end do
    end do
    a = 5
    p = -1
    age = 0
    n_own = 0
    call surrogate_plan_open(plan, path, x, options="threads=1")
    call surrogate_timeloop_create(loop, plan)
    call surrogate_timeloop_set(loop, "range", "fallback")
    call surrogate_timeloop_bind(loop, "mobility", a(1:n_x, 1:n_y), "m^2/(Pa s)")
    call surrogate_timeloop_bind(loop, "pressure", p(1:n_x, 1:n_y), "Pa")
    call surrogate_timeloop_bind_state(loop, "age", age, "s")
    call surrogate_timeloop_conserve(loop, "content", "pressure", 1e9_dp, weight=[(1.0, i = 1, n_x * n_y)])

    call surrogate_timeloop_step(loop, 0.5_dp, outcome)
    call check(outcome == surrogate_step_accepted .and. all(p(1:n_x, 1:n_y) /= -1), "a step")
    call check(all(p([0, n_x + 1], :) == -1) .and. all(p(:, [0, n_y + 1]) == -1), "ghosts stay")

    before = p(1:n_x, 1:n_y)
    call surrogate_timeloop_snapshot(loop)
    a(2, 2) = 1e6_dp
    age = 1
    call surrogate_timeloop_step(loop, 0.5_dp, outcome)
    call check(outcome == surrogate_step_rejected .and. all(p(1:n_x, 1:n_y) == before), "a step outside the range")
    call surrogate_timeloop_reason(loop, text)
    call check(index(text, "mobility") > 0, "the reason: "//text)
    call surrogate_timeloop_guard(loop, "range", guard)
    call check(guard%field == "mobility" .and. guard%n_violations == 1 .and. guard%value == 1e6_dp, "the guard")
    call surrogate_timeloop_set_fallback(loop, my_step, c_loc(n_own))
    call surrogate_timeloop_step(loop, 0.5_dp, outcome)
    call check(outcome == surrogate_step_fallback .and. n_own == 1 .and. all(p(1:n_x, 1:n_y) == 7), "the solver's own step")
    call surrogate_timeloop_rollback(loop)
    call check(all(p(1:n_x, 1:n_y) == before) .and. all(age == 0), "back to the mark")
    call surrogate_timeloop_time(loop, time_s, step)
    call check(time_s == 0.5_dp .and. step == 1, "the time of the mark")

    a(2, 2) = 5
    call surrogate_timeloop_rollout(loop, 3_c_int64_t, 0.25_dp, n_done, outcome)
    call check(n_done == 3 .and. outcome == surrogate_step_accepted, "three steps")
    call surrogate_timeloop_counter(loop, "rejected", value)
    call check(value == 1, "a counter")
    call surrogate_timeloop_report(loop, text)
    call check(index(text, "range") > 0, "the report")
    call surrogate_timeloop_set(loop, "rang", "warn", status)
    call check_status(status, surrogate_unknown_name, "range")
    call surrogate_timeloop_step(loop, -1.0_dp, status=status)
    call check(status == surrogate_invalid_argument, "a step backwards")
    call surrogate_timeloop_bind(loop, "mobility", a(1:n_x, 1:2), status=status)
    call check(status == surrogate_shape, "a field of another size")
    call surrogate_timeloop_step_with_error(loop, surrogate_io, "no boundary data", status)
    call check_status(status, surrogate_io, "no boundary data")
    call surrogate_timeloop_unbind(loop)
    call surrogate_timeloop_step(loop, 1.0_dp, status=status)
    call check(status == surrogate_invalid_argument, "a step without fields")
    call done()

contains

    function my_step(user, time_s, dt_s) bind(c) result(status)
        type(c_ptr), value :: user
        real(c_double), value :: time_s, dt_s
        integer(c_int) :: status
        integer, pointer :: n
        call c_f_pointer(user, n)
        n = n + 1
        p(1:n_x, 1:n_y) = 7
        call check(time_s == 0.5_dp .and. dt_s == 0.5_dp, "time and length of the solver's own step")
        status = surrogate_success
    end function
end program
