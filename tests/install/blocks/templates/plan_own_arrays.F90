! needs: surrogate_fortran surrogate_mpi
module given
    integer, parameter :: n_x = 4, n_y = 3
    integer :: comm, step, n_step
    real(8), target :: x(2, n_x, n_y)
end module
subroutine solve()
    use given
    @block@
end subroutine
program main
end program
