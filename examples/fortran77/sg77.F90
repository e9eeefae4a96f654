! SPDX-License-Identifier: Apache-2.0
! libsurrogate for FORTRAN 77: external subroutines for callers with implicit interfaces and arrays
! in COMMON blocks. Copy this file into your code. Compile it with the flags of your code, so that
! INTEGER and DOUBLE PRECISION have the same size on both sides (-fdefault-integer-8).
!
!     CALL SGOPEN(ISG, ICOMM, MODEL, NDIM, N, X, IERR)
!     CALL SGIN(ISG, NAME, UNIT, A, NX, NY, NZ, LDX, LDY, IERR)
!     CALL SGOUT(ISG, NAME, UNIT, A, NX, NY, NZ, LDX, LDY, IERR)
!     CALL SGRUN(ISG, IERR)
!     CALL SGCLOS(ISG, IERR)
!     CALL SGMSG(MSG, L)
!
! SGOPEN reads a model file and copies the coordinates X(NDIM, N) of this rank's points. SGIN and
! SGOUT bind a field of the model by its name and unit. SGRUN reads all inputs and writes all
! outputs. SGCLOS frees the memory. All ranks of ICOMM call SGOPEN, SGRUN and SGCLOS.
!
!   ISG     the number of the open model, set by SGOPEN; 0 after an error and after SGCLOS
!   ICOMM   a communicator of mpif.h; before MPI_INIT any number, then this process runs alone
!   A       the element of the first point, A(1, 1) of an array with ghost cells. The points are
!           A(1:NX, 1:NY, 1:NZ) of an array A(LDX, LDY, *), in the order of X, NX * NY * NZ = N.
!           Two dimensions have NZ = 1, one dimension has NY = NZ = LDY = 1. SGRUN uses the address
!           until SGCLOS, so the array must be in a COMMON block. (A has no attribute TARGET, with
!           which callers would need an explicit interface.)
!   IERR    0, or the status of the error (surrogate.h). Then SGMSG gives its text, MSG(1:L). After
!           10 (MPI) and 11 (BROKEN) the program must call MPI_ABORT.
module sg77_models
    use, intrinsic :: iso_c_binding, only: c_associated, c_int
    use surrogate
    implicit none
    integer, parameter :: n_model = 16
    type(surrogate_plan), target, save :: models(n_model)
    character(len=:), allocatable :: message

contains

    ! Passes a status on and keeps the text of an error for SGMSG.
    subroutine give(status, ierr)
        integer(c_int), intent(in) :: status
        integer, intent(out) :: ierr
        ierr = int(status)
        if (ierr /= 0) message = surrogate_status_name(status)//": "//surrogate_error()
    end subroutine

    ! Rejects an argument with a text for SGMSG.
    subroutine refuse(text, ierr)
        character(len=*), intent(in) :: text
        integer, intent(out) :: ierr
        ierr = int(surrogate_invalid_argument)
        message = "INVALID_ARGUMENT: "//text
    end subroutine

    ! Returns true if isg is the number of an open model. Otherwise ierr is the error.
    logical function is_open(isg, ierr)
        integer, intent(in) :: isg
        integer, intent(out) :: ierr
        character(len=80) :: text
        ierr = 0
        is_open = isg >= 1 .and. isg <= n_model
        if (is_open) is_open = c_associated(models(isg)%handle)
        if (is_open) return
        write (text, '(a, i0, a)') "ISG is ", isg, ", expected an open model; call SGOPEN"
        call refuse(trim(text), ierr)
    end function

    ! Returns true if isg is open and the sizes describe a part of an array. Otherwise ierr is the
    ! error.
    logical function is_fit(isg, nx, ny, nz, ldx, ldy, ierr)
        integer, intent(in) :: isg, nx, ny, nz, ldx, ldy
        integer, intent(out) :: ierr
        character(len=240) :: text
        is_fit = is_open(isg, ierr)
        if (.not. is_fit) return
        is_fit = min(nx, ny, nz) >= 0 .and. nx <= ldx .and. ny <= ldy
        if (is_fit) return
        write (text, '(5(a, i0), a)') "NX, NY, NZ are ", nx, ", ", ny, ", ", nz, &
            ", LDX, LDY are ", ldx, ", ", ldy, ", expected 0 <= NX <= LDX, 0 <= NY <= LDY, NZ >= 0"
        call refuse(trim(text), ierr)
    end function
end module

subroutine sgopen(isg, icomm, model, ndim, n, x, ierr)
    use sg77_models
    implicit none
    integer, intent(out) :: isg, ierr
    integer, intent(in) :: icomm, ndim, n
    character(len=*), intent(in) :: model
    double precision, intent(in) :: x(ndim, n)
    character(len=80) :: text
    integer(c_int) :: status
    integer :: i
    isg = 0
    do i = 1, n_model
        if (.not. c_associated(models(i)%handle)) exit
    end do
    if (i > n_model) then
        write (text, '(i0, a)') n_model, " models are open; call SGCLOS, or raise n_model in sg77"
        call refuse(trim(text), ierr)
        return
    end if
    call surrogate_plan_open(models(i), icomm, model, x, status=status)
    call give(status, ierr)
    if (ierr == 0) isg = i
end subroutine

subroutine sgin(isg, name, unit, a, nx, ny, nz, ldx, ldy, ierr)
    use sg77_models
    implicit none
    integer, intent(in) :: isg, nx, ny, nz, ldx, ldy
    character(len=*), intent(in) :: name, unit
    double precision, intent(inout) :: a(ldx, ldy, *)
    integer, intent(out) :: ierr
    integer(c_int) :: status
    if (.not. is_fit(isg, nx, ny, nz, ldx, ldy, ierr)) return
    call surrogate_plan_bind_input(models(isg), name, a(1:nx, 1:ny, 1:nz), unit, status=status)
    call give(status, ierr)
end subroutine

subroutine sgout(isg, name, unit, a, nx, ny, nz, ldx, ldy, ierr)
    use sg77_models
    implicit none
    integer, intent(in) :: isg, nx, ny, nz, ldx, ldy
    character(len=*), intent(in) :: name, unit
    double precision, intent(inout) :: a(ldx, ldy, *)
    integer, intent(out) :: ierr
    integer(c_int) :: status
    if (.not. is_fit(isg, nx, ny, nz, ldx, ldy, ierr)) return
    call surrogate_plan_bind_output(models(isg), name, a(1:nx, 1:ny, 1:nz), unit, status=status)
    call give(status, ierr)
end subroutine

subroutine sgrun(isg, ierr)
    use sg77_models
    implicit none
    integer, intent(in) :: isg
    integer, intent(out) :: ierr
    integer(c_int) :: status
    if (.not. is_open(isg, ierr)) return
    call surrogate_plan_run(models(isg), status)
    call give(status, ierr)
end subroutine

subroutine sgclos(isg, ierr)
    use sg77_models
    implicit none
    integer, intent(inout) :: isg
    integer, intent(out) :: ierr
    if (.not. is_open(isg, ierr)) return
    call surrogate_plan_destroy(models(isg))
    isg = 0
end subroutine

subroutine sgmsg(msg, l)
    use sg77_models
    implicit none
    character(len=*), intent(out) :: msg
    integer, intent(out) :: l
    msg = ""
    if (allocated(message)) msg = message
    l = max(1, len_trim(msg))
end subroutine
