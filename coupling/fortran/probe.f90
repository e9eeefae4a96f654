! SPDX-License-Identifier: Apache-2.0
! Checks that the Fortran compiler, with the C compiler, can pass any array to C by its descriptor
! (descriptor.c).
program probe
    use, intrinsic :: iso_c_binding
    implicit none
    type, bind(c) :: view
        integer(c_int64_t) :: words(16)
    end type
    interface
        function array_of(array) bind(c, name="surrogate_fortran_array_of") result(found)
            import :: view
            type(*), dimension(..), intent(in), target :: array
            type(view) :: found
        end function
    end interface
    type(view) :: found
    real(c_double), target :: a(4, 5)
    call pass(a(1:2, 2:4))
contains
    subroutine pass(array)
        type(*), dimension(..), intent(inout), target :: array
        found = array_of(array)
    end subroutine
end program
