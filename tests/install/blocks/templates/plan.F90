! needs: surrogate_fortran surrogate_mpi
module given
    integer, parameter :: n_x = 4, n_y = 3
    real(8), target :: x(2, n_x, n_y), a(0:n_x + 1, 0:n_y + 1), p(0:n_x + 1, 0:n_y + 1)
    integer :: comm
end module
subroutine solve()
    use given
    @block@
end subroutine
program main
end program
