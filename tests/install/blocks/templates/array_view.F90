! needs: surrogate_fortran
module given
    use surrogate
    use iso_c_binding
    type :: cell_fields
        real(8), pointer :: h(:)
    end type
    type(cell_fields) :: cells
    type(surrogate_plan) :: plan
    integer :: n_x, n_y
    real(8), target :: a(4, 4)
end module
subroutine solve()
    use given
    @block@
end subroutine
program main
end program
