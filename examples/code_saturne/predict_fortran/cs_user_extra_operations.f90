! SPDX-License-Identifier: Apache-2.0
! The model CAVITY_MODEL predicts the pressure of every step from its velocity;
! cs_user_extra_operations.c compares it with the solver's. code_saturne gives Fortran no
! communicator: MPI_COMM_WORLD is correct unless it is coupled with another code.
subroutine cs_f_user_extra_operations(nvar, nscal, dt)
use, intrinsic :: iso_c_binding, only: c_associated
use surrogate                                                                                        ! +
use mpi, only: MPI_COMM_WORLD                                                                        ! +
use paramx
use numvar
use mesh
use parall
use field
implicit none
integer          nvar, nscal
double precision dt(ncelet)
double precision, dimension(:,:), pointer :: velocity
double precision, dimension(:), pointer :: predicted
character(len=1000) path
integer          id
type(surrogate_plan), save :: plan                                                                   ! +

call field_get_val_v(ivarfl(iu), velocity)
call field_get_id('predicted_pressure', id)
call field_get_val_s(id, predicted)

if (.not. c_associated(plan%handle)) then
  call get_environment_variable('CAVITY_MODEL', path)
  call surrogate_plan_open(plan, MPI_COMM_WORLD, path, xyzcen(:, 1:ncel), options='agree=true')      ! +
endif
call surrogate_plan_bind_input(plan, 'velocity.x', velocity(1, 1:ncel), 'm/s')                       ! +
call surrogate_plan_bind_input(plan, 'velocity.y', velocity(2, 1:ncel), 'm/s')                       ! +
call surrogate_plan_bind_output(plan, 'pressure', predicted(1:ncel), 'Pa')                           ! +
call surrogate_plan_run(plan)                                                                        ! +
end subroutine
