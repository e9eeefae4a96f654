! SPDX-License-Identifier: Apache-2.0
! Counts what is not as expected.
module checks
    use, intrinsic :: iso_c_binding
    use surrogate
    implicit none
    private
    integer, public :: n_failed = 0
    public :: check, check_status, done

contains

    subroutine check(is_right, what)
        logical, intent(in) :: is_right
        character(len=*), intent(in) :: what
        if (is_right) return
        n_failed = n_failed + 1
        print '(2a)', "NOT AS EXPECTED: ", what
    end subroutine

    ! The status is `expected`, and the text of the failure has `part` in it.
    subroutine check_status(status, expected, part)
        integer(c_int), intent(in) :: status, expected
        character(len=*), intent(in) :: part
        call check(status == expected, part//": status "//surrogate_status_name(status)//", expected "// &
            surrogate_status_name(expected))
        if (expected /= surrogate_success) call check(index(surrogate_error(), part) > 0, part//": text is "// &
            surrogate_error())
    end subroutine

    subroutine done()
        if (n_failed > 0) error stop "not all as expected"
        print '(a)', "all as expected"
    end subroutine
end module
