! needs: surrogate_fortran surrogate_timeloop -lsurrogate_fortran_timeloop
module given
    use surrogate, only: surrogate_plan
    integer, parameter :: n_x = 4, n_y = 3
    type(surrogate_plan) :: plan
    real(8), target :: h(0:n_x + 1, 0:n_y + 1)
    real(8) :: time, end, dt
    integer(4) :: outcome
contains
    subroutine my_step(field, dt_s)
        real(8), intent(inout) :: field(:, :)
        real(8), intent(in) :: dt_s
    end subroutine
end module
subroutine solve()
    use given
    @block@
end subroutine
program main
end program
