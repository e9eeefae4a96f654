! SPDX-License-Identifier: Apache-2.0
#include "macros.inc"
! PETSc interface: one procedure for each function of surrogate_petsc.h, which has the contracts.
! Conventions as in module surrogate, except for errors: the last argument is ierr, PETSc's error
! code, optional.
!   PETSc's objects are passed by the address that they contain, x%v of type(tVec), da%v of type(tDM).
!   Therefore this module uses no module of PETSc, and fits every PETSc that the library can be built
!   with.
module surrogate_petsc
    use, intrinsic :: iso_c_binding
    use surrogate_fortran_base
    use surrogate_fortran_context, only: surrogate_context, surrogate_context_destroy
    use surrogate_fortran_model, only: surrogate_model, surrogate_model_destroy
    use surrogate_fortran_domain, only: surrogate_domain, surrogate_domain_destroy
    use surrogate_fortran_plan, only: surrogate_plan, surrogate_plan_destroy
    use surrogate_loop, only: surrogate_timeloop
    implicit none
    private

    integer, parameter :: n_letter = 128

    ! A field of the card in a Vec, created by surrogate_make_vec.
    type, bind(c), public :: surrogate_vec_field
        private
        character(kind=c_char) :: name(n_letter) = c_null_char, unit(n_letter) = c_null_char
        integer(c_int64_t) :: vec = 0, component = 0, n_component = 0
    end type

    ! surrogate_make_vec(.., component=): all components of the vector of this name.
    integer(c_int), parameter, public :: surrogate_all_components = -1

    interface
        function c_error_code(status) bind(c, name="surrogate_petsc_error_code") result(code)
            import :: c_int
            integer(c_int), value :: status
            integer(c_int) :: code
        end function
        function c_register() bind(c, name="surrogate_petsc_register") result(code)
            import :: c_int
            integer(c_int) :: code
        end function
        function c_context_create(comm, prefix, context) bind(c, name="surrogate_fortran_context_create_petsc") &
            result(code)
            import :: c_int, c_ptr
            integer(c_int), value :: comm
            type(c_ptr), value :: prefix
            type(c_ptr), intent(out) :: context
            integer(c_int) :: code
        end function
        function c_model_load(context, path, model) bind(c, name="surrogate_model_load_petsc") result(code)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: context
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), intent(out) :: model
            integer(c_int) :: code
        end function
        function c_plan_create(model, input, output, plan) bind(c, name="surrogate_plan_create_petsc") result(code)
            import :: c_int, c_ptr
            type(c_ptr), value :: model, input, output
            type(c_ptr), intent(out) :: plan
            integer(c_int) :: code
        end function
        function c_domain_dm(context, dm, domain) bind(c, name="surrogate_fortran_domain_create_dm") result(code)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: context
            integer(c_int64_t), value :: dm
            type(c_ptr), intent(out) :: domain
            integer(c_int) :: code
        end function
        function c_domain_dm_sphere(context, dm, grid, south_to_north, domain) &
            bind(c, name="surrogate_fortran_domain_create_dm_sphere") result(code)
            import :: c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: context
            integer(c_int64_t), value :: dm
            character(kind=c_char), intent(in) :: grid(*)
            integer(c_int), value :: south_to_north
            type(c_ptr), intent(out) :: domain
            integer(c_int) :: code
        end function
        function c_run_vec(plan, n_in, in, n_out, out) bind(c, name="surrogate_fortran_plan_run_vec") result(code)
            import :: c_int, c_int64_t, c_ptr, surrogate_vec_field
            type(c_ptr), value :: plan
            integer(c_int64_t), value :: n_in, n_out
            type(surrogate_vec_field), intent(in) :: in(*), out(*)
            integer(c_int) :: code
        end function
        function c_run_backward_vec(plan, n_w, w, n_g, g) &
            bind(c, name="surrogate_fortran_plan_run_backward_vec") result(code)
            import :: c_int, c_int64_t, c_ptr, surrogate_vec_field
            type(c_ptr), value :: plan
            integer(c_int64_t), value :: n_w, n_g
            type(surrogate_vec_field), intent(in) :: w(*), g(*)
            integer(c_int) :: code
        end function
        function c_create_mat(plan, n_in, in, n_out, out, mat) &
            bind(c, name="surrogate_fortran_plan_create_mat") result(code)
            import :: c_int, c_int64_t, c_ptr, surrogate_vec_field
            type(c_ptr), value :: plan
            integer(c_int64_t), value :: n_in, n_out
            type(surrogate_vec_field), intent(in) :: in(*), out(*)
            integer(c_int64_t), intent(inout) :: mat
            integer(c_int) :: code
        end function
        function c_step_vec(loop, dt_s, n_in, in, n_out, out, outcome) &
            bind(c, name="surrogate_fortran_timeloop_step_vec") result(code)
            import :: c_double, c_int, c_int64_t, c_ptr, surrogate_vec_field
            type(c_ptr), value :: loop
            real(c_double), value :: dt_s
            integer(c_int64_t), value :: n_in, n_out
            type(surrogate_vec_field), intent(in) :: in(*), out(*)
            integer(c_int), intent(inout) :: outcome
            integer(c_int) :: code
        end function
    end interface

    public :: surrogate_petsc_error_code, surrogate_petsc_register, surrogate_context_create_petsc, &
        surrogate_model_load_petsc, surrogate_plan_create_petsc, surrogate_domain_create_dm, &
        surrogate_domain_create_dm_sphere, surrogate_make_vec, surrogate_plan_run_vec, surrogate_plan_run_backward_vec, &
        surrogate_plan_create_mat, surrogate_timeloop_step_vec

contains

    ! Ends a procedure: returns PETSc's code to the caller, or stops with the library's text.
    subroutine finish_petsc(code, where, ierr)
        integer(c_int), intent(in) :: code
        character(len=*), intent(in) :: where
        integer(c_int), intent(out), optional :: ierr
        character(len=12) :: number
        if (present(ierr)) ierr = code
        if (present(ierr) .or. code == 0) return
        write (number, '(i0)') code
        call stop_with(where // ": PETSc error " // trim(number) // ": " // surrogate_error_of(c_null_ptr))
    end subroutine

    function surrogate_petsc_error_code(status) result(code)
        integer(c_int), intent(in) :: status
        integer(c_int) :: code
        code = c_error_code(status)
    end function

    subroutine surrogate_petsc_register(ierr)
        integer(c_int), intent(out), optional :: ierr
        call finish_petsc(c_register(), "surrogate_petsc_register", ierr)
    end subroutine

    ! comm: an integer, or comm%MPI_VAL.
    subroutine surrogate_context_create_petsc(context, comm, prefix, ierr)
        type(surrogate_context), intent(inout) :: context
        integer, intent(in) :: comm
        character(len=*), intent(in), optional :: prefix
        integer(c_int), intent(out), optional :: ierr
        character(kind=c_char), allocatable, target :: letters(:)
        call surrogate_context_destroy(context)
        call finish_petsc(c_context_create(int(comm, c_int), optional_text(prefix, letters), context%handle), &
            "surrogate_context_create_petsc", ierr)
    end subroutine

    subroutine surrogate_model_load_petsc(model, context, path, ierr)
        type(surrogate_model), intent(inout) :: model
        type(surrogate_context), intent(in) :: context
        character(len=*), intent(in) :: path
        integer(c_int), intent(out), optional :: ierr
        call surrogate_model_destroy(model)
        call finish_petsc(c_model_load(context%handle, trim(path)//c_null_char, model%handle), &
            "surrogate_model_load_petsc", ierr)
    end subroutine

    subroutine surrogate_plan_create_petsc(plan, model, input, output, ierr)
        type(surrogate_plan), intent(inout) :: plan
        type(surrogate_model), intent(in) :: model
        type(surrogate_domain), intent(in) :: input
        type(surrogate_domain), intent(in), optional :: output
        integer(c_int), intent(out), optional :: ierr
        type(c_ptr) :: other
        call surrogate_plan_destroy(plan)
        other = c_null_ptr
        if (present(output)) other = output%handle
        call finish_petsc(c_plan_create(model%handle, input%handle, other, plan%handle), &
            "surrogate_plan_create_petsc", ierr)
    end subroutine

    ! dm: da%v
    subroutine surrogate_domain_create_dm(domain, context, dm, ierr)
        type(surrogate_domain), intent(inout) :: domain
        type(surrogate_context), intent(in) :: context
        integer(c_int64_t), intent(in) :: dm
        integer(c_int), intent(out), optional :: ierr
        call surrogate_domain_destroy(domain)
        call finish_petsc(c_domain_dm(context%handle, dm, domain%handle), "surrogate_domain_create_dm", ierr)
    end subroutine

    subroutine surrogate_domain_create_dm_sphere(domain, context, dm, grid, south_to_north, ierr)
        type(surrogate_domain), intent(inout) :: domain
        type(surrogate_context), intent(in) :: context
        integer(c_int64_t), intent(in) :: dm
        character(len=*), intent(in) :: grid
        logical, intent(in) :: south_to_north
        integer(c_int), intent(out), optional :: ierr
        call surrogate_domain_destroy(domain)
        call finish_petsc(c_domain_dm_sphere(context%handle, dm, trim(grid)//c_null_char, merge(1_c_int, 0_c_int, &
            south_to_north), domain%handle), "surrogate_domain_create_dm_sphere", ierr)
    end subroutine

    ! vec: x%v. Names and units of up to 127 letters. component counts from 0; n_component 0: the block size of the Vec.
    function surrogate_make_vec(name, vec, unit, component, n_component) result(field)
        character(len=*), intent(in) :: name
        integer(c_int64_t), intent(in) :: vec
        character(len=*), intent(in), optional :: unit
        integer, intent(in), optional :: component, n_component
        type(surrogate_vec_field) :: field
        call take(name, field%name)
        if (present(unit)) call take(unit, field%unit)
        field%vec = vec
        if (present(component)) field%component = component
        if (present(n_component)) field%n_component = n_component
    end function

    subroutine take(text, letters)
        character(len=*), intent(in) :: text
        character(kind=c_char), intent(inout) :: letters(n_letter)
        integer :: i
        if (len_trim(text) >= n_letter) call stop_with("surrogate_make_vec: '" // trim(text) // "' is longer than 127 letters")
        do i = 1, len_trim(text)
            letters(i) = text(i:i)
        end do
    end subroutine

    subroutine surrogate_plan_run_vec(plan, in, out, ierr)
        type(surrogate_plan), intent(in) :: plan
        type(surrogate_vec_field), intent(in) :: in(:), out(:)
        integer(c_int), intent(out), optional :: ierr
        call finish_petsc(c_run_vec(plan%handle, int(size(in), c_int64_t), in, int(size(out), c_int64_t), out), &
            "surrogate_plan_run_vec", ierr)
    end subroutine

    subroutine surrogate_plan_run_backward_vec(plan, w, g, ierr)
        type(surrogate_plan), intent(in) :: plan
        type(surrogate_vec_field), intent(in) :: w(:), g(:)
        integer(c_int), intent(out), optional :: ierr
        call finish_petsc(c_run_backward_vec(plan%handle, int(size(w), c_int64_t), w, int(size(g), c_int64_t), g), &
            "surrogate_plan_run_backward_vec", ierr)
    end subroutine

    ! mat: jacobian%v of type(tMat).
    subroutine surrogate_plan_create_mat(plan, in, out, mat, ierr)
        type(surrogate_plan), intent(in) :: plan
        type(surrogate_vec_field), intent(in) :: in(:), out(:)
        integer(c_int64_t), intent(inout) :: mat
        integer(c_int), intent(out), optional :: ierr
        call finish_petsc(c_create_mat(plan%handle, int(size(in), c_int64_t), in, int(size(out), c_int64_t), out, mat), &
            "surrogate_plan_create_mat", ierr)
    end subroutine

    subroutine surrogate_timeloop_step_vec(loop, dt_s, in, out, outcome, ierr)
        type(surrogate_timeloop), intent(in) :: loop
        real(c_double), intent(in) :: dt_s
        type(surrogate_vec_field), intent(in) :: in(:), out(:)
        integer(c_int), intent(out), optional :: outcome
        integer(c_int), intent(out), optional :: ierr
        integer(c_int) :: code, given
        given = 0
        code = c_step_vec(loop%handle, dt_s, int(size(in), c_int64_t), in, int(size(out), c_int64_t), out, given)
        if (present(outcome)) outcome = given
        call finish_petsc(code, "surrogate_timeloop_step_vec", ierr)
    end subroutine
end module surrogate_petsc
