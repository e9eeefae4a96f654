! SPDX-License-Identifier: Apache-2.0
#include "macros.inc"
! Module surrogate with communicators of module mpi_f08, in addition to integers.
module surrogate_f08
    use, intrinsic :: iso_c_binding, only: c_int
    use mpi_f08, only: MPI_Comm
    use surrogate
    implicit none
    public
    private :: c_int, MPI_Comm, create_f08, open_f08

    interface surrogate_context_create
        module procedure create_f08
    end interface
    interface surrogate_plan_open
        module procedure open_f08
    end interface

contains

    subroutine create_f08(context, comm, options, options_object, status)
        type(surrogate_context), intent(inout) :: context
        type(MPI_Comm), intent(in) :: comm
        character(len=*), intent(in), optional :: options
        type(surrogate_options), intent(in), optional :: options_object
        integer(c_int), intent(out), optional :: status
        call surrogate_context_create(context, comm%MPI_VAL, options, options_object, status)
    end subroutine

    subroutine open_f08(plan, comm, path, x, global_id, cloud, weight, options, options_object, status)
        type(surrogate_plan), intent(inout) :: plan
        type(MPI_Comm), intent(in) :: comm
        character(len=*), intent(in) :: path
        ANY_ARRAY, intent(in), target :: x
        ANY_ARRAY, intent(in), optional, target :: global_id, cloud, weight
        character(len=*), intent(in), optional :: options
        type(surrogate_options), intent(in), optional :: options_object
        integer(c_int), intent(out), optional :: status
        call surrogate_plan_open(plan, comm%MPI_VAL, path, x, global_id, cloud, weight, options, options_object, status)
    end subroutine
end module
