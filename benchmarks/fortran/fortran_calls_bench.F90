! SPDX-License-Identifier: Apache-2.0
! Nanoseconds per call, in C and through module surrogate: surrogate_plan_bind_input and
! surrogate_plan_counter. Reports the best of several rounds, because other work disturbs single
! ones.
!   fortran_calls_bench <model darcy_flow.safetensors>
program fortran_calls_bench
    use, intrinsic :: iso_c_binding
    use surrogate
    implicit none
    interface
        function c_binds(plan, mobility, n, n_call) bind(c) result(n_failed)
            import :: c_ptr, c_int64_t, c_double
            type(c_ptr), value :: plan
            real(c_double), intent(in) :: mobility(*)
            integer(c_int64_t), value :: n, n_call
            integer(c_int64_t) :: n_failed
        end function
        function c_questions(plan, n_call) bind(c) result(n_failed)
            import :: c_ptr, c_int64_t
            type(c_ptr), value :: plan
            integer(c_int64_t), value :: n_call
            integer(c_int64_t) :: n_failed
        end function
    end interface
    integer(c_int64_t), parameter :: n = 16, n_call = 20000, n_round = 30
    type(surrogate_plan) :: plan
    real(c_double), target :: x(2, n), mobility(n), ghosts(6, 6)
    real(c_double) :: best(5)
    integer(c_int64_t) :: i, round, value, last
    character(len=1024) :: path

    call get_command_argument(1, path)
    x = reshape([(0.03d0 * i, i = 1, 2 * n)], [2, int(n)])
    mobility = 5
    ghosts = 5
    call surrogate_plan_open(plan, path, x, options="threads=1")
    best = huge(best)
    do round = 1, n_round
        call system_clock(last)
        call keep(1, c_binds(plan%handle, mobility, n, n_call) == 0)
        do i = 1, n_call
            call surrogate_plan_bind_input(plan, "mobility", mobility, "m^2/(Pa s)")
        end do
        call keep(2, .true.)
        do i = 1, n_call
            call surrogate_plan_bind_input(plan, "mobility", ghosts(2:5, 2:5), "m^2/(Pa s)")
        end do
        call keep(3, .true.)
        call keep(4, c_questions(plan%handle, n_call) == 0)
        do i = 1, n_call
            call surrogate_plan_counter(plan, "runs", value)
        end do
        call keep(5, value == 0)
    end do
    print '(a, 3(f8.0, a))', "bind_input  C", best(1), " ns, Fortran", best(2), " ns, a section with ghosts", best(3), " ns"
    print '(a, 2(f8.0, a))', "counter     C", best(4), " ns, Fortran", best(5), " ns"

contains

    ! Returns the time since the last call, as nanoseconds per call of the library.
    subroutine keep(which, is_right)
        integer, intent(in) :: which
        logical, intent(in) :: is_right
        integer(c_int64_t) :: now, rate
        if (.not. is_right) error stop "a call gave something else than expected"
        call system_clock(now, rate)
        best(which) = min(best(which), real(now - last, c_double) / rate * 1e9 / n_call)
        call system_clock(last)
    end subroutine
end program
