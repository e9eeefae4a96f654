! SPDX-License-Identifier: Apache-2.0
! Module surrogate_petsc: a DMDA's vectors in and out, by a plan and by a guarded loop, and errors as PETSc's codes. Prints
! "all as expected" on rank 0.
#include <petsc/finclude/petsc.h>
program petsc_test
    use petsc
    use, intrinsic :: iso_c_binding
    use surrogate
    use surrogate_loop
    use surrogate_petsc
    implicit none
    integer, parameter :: n = 12
    type(tDM) :: da
    type(tVec) :: mobility, pressure, expected, direction, gradient
    type(tMat) :: jacobian
    type(surrogate_context) :: context
    type(surrogate_model) :: model
    type(surrogate_domain) :: domain
    type(surrogate_plan) :: plan, derived
    type(surrogate_timeloop) :: loop
    PetscErrorCode :: ierr
    PetscReal :: distance, size_of
    PetscScalar :: value
    PetscInt :: i, first, last
    integer :: rank, n_wrong
    integer(c_int) :: outcome
    character(len=1024) :: path

    call PetscInitialize(ierr)
    call MPI_Comm_rank(PETSC_COMM_WORLD, rank, ierr)
    call get_command_argument(1, path)
    n_wrong = 0
    call DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, &
        PETSC_DECIDE, 1, 1, PETSC_NULL_INTEGER, PETSC_NULL_INTEGER, da, ierr)
    call DMSetUp(da, ierr)
    call DMDASetUniformCoordinates(da, 0.5d0/n, 1 - 0.5d0/n, 0.5d0/n, 1 - 0.5d0/n, 0d0, 0d0, ierr)
    call DMCreateGlobalVector(da, mobility, ierr)
    call VecDuplicate(mobility, pressure, ierr)
    call VecDuplicate(mobility, expected, ierr)
    call VecGetOwnershipRange(mobility, first, last, ierr)
    do i = first, last - 1
        value = 3 + mod(i, 10)
        call VecSetValue(mobility, i, value, INSERT_VALUES, ierr)
    end do
    call VecAssemblyBegin(mobility, ierr)
    call VecAssemblyEnd(mobility, ierr)

    call surrogate_petsc_register()
    call surrogate_context_create_petsc(context, PETSC_COMM_WORLD)
    call surrogate_model_load_petsc(model, context, path)
    call surrogate_domain_create_dm(domain, context, da%v)
    call surrogate_plan_create_petsc(plan, model, domain)
    call surrogate_plan_run_vec(plan, [surrogate_make_vec("mobility", mobility%v, "m^2/(Pa s)")], &
        [surrogate_make_vec("pressure", expected%v, "Pa")])
    call VecNorm(expected, NORM_2, size_of, ierr)
    call expect(size_of > 1d-3 .and. size_of < 1, "a pressure of some size")

    ! The loop steps the same way, and leaves a Vec alone when a guard rejects the step.
    call surrogate_timeloop_create(loop, plan)
    call surrogate_timeloop_set(loop, "range", "fallback")
    call surrogate_timeloop_step_vec(loop, 1d0, [surrogate_make_vec("mobility", mobility%v)], &
        [surrogate_make_vec("pressure", pressure%v)], outcome)
    call expect(outcome == surrogate_step_accepted, "an accepted step")
    call VecAXPY(expected, -1d0, pressure, ierr)
    call VecNorm(expected, NORM_INFINITY, distance, ierr)
    call expect(distance <= 1d-6*size_of, "the same pressure from plan and loop")
    if (rank == 0) then
        value = 1000
        call VecSetValue(mobility, 0, value, INSERT_VALUES, ierr)
    end if
    call VecAssemblyBegin(mobility, ierr)
    call VecAssemblyEnd(mobility, ierr)
    call VecCopy(pressure, expected, ierr)
    call surrogate_timeloop_step_vec(loop, 1d0, [surrogate_make_vec("mobility", mobility%v)], &
        [surrogate_make_vec("pressure", pressure%v)], outcome)
    call expect(outcome == surrogate_step_rejected, "a rejected step on all ranks")
    call VecAXPY(expected, -1d0, pressure, ierr)
    call VecNorm(expected, NORM_INFINITY, distance, ierr)
    call expect(distance == 0, "the pressure as it was")

    ! <w, J v> = <J^T w, v>, of a plan with gradients. (The Vecs of the first plan are scratch here.)
    call surrogate_plan_create(derived, model, domain, options="gradients=inputs")
    call VecSet(mobility, 6d0, ierr)
    call surrogate_plan_create_mat(derived, [surrogate_make_vec("mobility", mobility%v)], &
        [surrogate_make_vec("pressure", pressure%v)], jacobian%v)
    call VecDuplicate(mobility, direction, ierr)
    do i = first, last - 1
        value = mod(i, 7) - 3
        call VecSetValue(direction, i, value, INSERT_VALUES, ierr)
    end do
    call VecAssemblyBegin(direction, ierr)
    call VecAssemblyEnd(direction, ierr)
    call MatMult(jacobian, direction, pressure, ierr)
    call VecDot(pressure, pressure, size_of, ierr)
    call MatMultTranspose(jacobian, pressure, expected, ierr)
    call VecDot(expected, direction, distance, ierr)
    call expect(size_of > 0 .and. abs(distance - size_of) < 2d-4*size_of, "both products of the Jacobian")
    call MatDestroy(jacobian, ierr)
    call VecDuplicate(mobility, gradient, ierr)
    call VecCopy(pressure, direction, ierr)
    call surrogate_plan_run_vec(derived, [surrogate_make_vec("mobility", mobility%v)], &
        [surrogate_make_vec("pressure", pressure%v)])
    call surrogate_plan_run_backward_vec(derived, [surrogate_make_vec("pressure", direction%v)], &
        [surrogate_make_vec("mobility", gradient%v)])
    call VecAXPY(gradient, -1d0, expected, ierr)
    call VecNorm(gradient, NORM_INFINITY, distance, ierr)
    call expect(distance == 0, "the backward run on Vecs")
    call VecDestroy(gradient, ierr)
    call VecDestroy(direction, ierr)
    call surrogate_plan_destroy(derived)

    ! Errors are PETSc's codes, and the library has the text. (PETSc prints them as well.)
    call surrogate_plan_run_vec(plan, [surrogate_make_vec("mobilty", mobility%v)], &
        [surrogate_make_vec("pressure", pressure%v)], ierr)
    call expect(ierr == surrogate_petsc_error_code(surrogate_unknown_name), "the code of an unknown name")
    call expect(index(surrogate_error(), "did you mean") > 0, "a near miss")
    call surrogate_model_load_petsc(model, context, "/not/there", ierr)
    call expect(ierr == surrogate_petsc_error_code(surrogate_io), "the code of a missing file")

    call surrogate_timeloop_destroy(loop)
    call surrogate_plan_destroy(plan)
    call surrogate_domain_destroy(domain)
    call surrogate_model_destroy(model)
    call surrogate_context_destroy(context)
    call VecDestroy(mobility, ierr)
    call VecDestroy(pressure, ierr)
    call VecDestroy(expected, ierr)
    call DMDestroy(da, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, n_wrong, 1, MPI_INTEGER, MPI_SUM, PETSC_COMM_WORLD, ierr)
    if (rank == 0 .and. n_wrong == 0) print '(a)', "all as expected"
    call PetscFinalize(ierr)

contains

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what
        if (holds) return
        n_wrong = n_wrong + 1
        print '(a, i0, 2a)', "rank ", rank, " NOT AS EXPECTED: ", what
    end subroutine
end program
