! SPDX-License-Identifier: Apache-2.0
! Fortran through iso_c_binding: a context, over the ranks where there is MPI, and the status of a wrong call.
program languages
    use, intrinsic :: iso_c_binding
#ifdef WITH_mpi
    use mpi_f08
#endif
    implicit none

    interface
        function context_create(options, context) bind(c, name="surrogate_context_create") result(status)
            import :: c_int, c_ptr
            type(c_ptr), value :: options
            type(c_ptr), intent(out) :: context
            integer(c_int) :: status
        end function
#ifdef WITH_mpi
        function context_create_fint(comm, options, context) bind(c, name="surrogate_context_create_fint") result(status)
            import :: c_int, c_ptr
            integer(c_int), value :: comm
            type(c_ptr), value :: options
            type(c_ptr), intent(out) :: context
            integer(c_int) :: status
        end function
#endif
        function model_load(context, path, model) bind(c, name="surrogate_model_load") result(status)
            import :: c_int, c_ptr, c_char
            type(c_ptr), value :: context
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), intent(out) :: model
            integer(c_int) :: status
        end function
        function status_name(status) bind(c, name="surrogate_status_name") result(name)
            import :: c_int, c_ptr
            integer(c_int), value :: status
            type(c_ptr) :: name
        end function
        subroutine context_destroy(context) bind(c, name="surrogate_context_destroy")
            import :: c_ptr
            type(c_ptr), intent(inout) :: context
        end subroutine
    end interface

    type(c_ptr) :: context, model
    character(kind=c_char), pointer :: name(:)
    integer(c_int) :: status
    integer :: rank = 0

#ifdef WITH_mpi
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    status = context_create_fint(MPI_COMM_WORLD%MPI_VAL, c_null_ptr, context)
#else
    status = context_create(c_null_ptr, context)
#endif
    if (status /= 0) error stop "context"
    status = model_load(context, "no such file"//c_null_char, model)
    call c_f_pointer(status_name(status), name, [2])
    if (name(1) /= "I" .or. name(2) /= "O") error stop "status"
    call context_destroy(context)
#ifdef WITH_mpi
    call MPI_Finalize()
#endif
    if (rank == 0) print '(a)', "all as expected"
end program
