! SPDX-License-Identifier: Apache-2.0
! Fortran through iso_c_binding: a context, over the ranks where there is MPI, and the status of a wrong call.
program languages
    use, intrinsic :: iso_c_binding
#ifdef WITH_mpi
    use mpi_f08
#endif
    implicit none

    type, bind(c) :: array_t
        type(c_ptr) :: data
        integer(c_int64_t) :: shape(2), stride(2)
        integer(c_int32_t) :: dtype, space
    end type
    type, bind(c) :: points_t
        type(array_t) :: x
        type(c_ptr) :: global_id = c_null_ptr, cloud = c_null_ptr, weight = c_null_ptr
    end type

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
        function context_describe(context, text, n_text) bind(c, name="surrogate_context_describe") result(status)
            import :: c_int, c_int64_t, c_ptr, c_char
            type(c_ptr), value :: context
            character(kind=c_char), intent(out) :: text(*)
            integer(c_int64_t), intent(inout) :: n_text
            integer(c_int) :: status
        end function
        function context_reduce(context, op, n, values) bind(c, name="surrogate_context_reduce") result(status)
            import :: c_int, c_int32_t, c_int64_t, c_double, c_ptr
            type(c_ptr), value :: context
            integer(c_int32_t), value :: op
            integer(c_int64_t), value :: n
            real(c_double), intent(inout) :: values(*)
            integer(c_int) :: status
        end function
        function domain_create_points(context, points, domain) bind(c, name="surrogate_domain_create_points") result(status)
            import :: c_int, c_ptr, points_t
            type(c_ptr), value :: context
            type(points_t), intent(in) :: points
            type(c_ptr), intent(out) :: domain
            integer(c_int) :: status
        end function
        function domain_n_points(domain, n_local, n_global) bind(c, name="surrogate_domain_n_points") result(status)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: domain
            integer(c_int64_t), intent(out) :: n_local, n_global
            integer(c_int) :: status
        end function
        subroutine domain_destroy(domain) bind(c, name="surrogate_domain_destroy")
            import :: c_ptr
            type(c_ptr), intent(inout) :: domain
        end subroutine
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

    type(c_ptr) :: context, model, domain
    type(points_t) :: points
    real(c_double), target :: x(2, 5) = 0.5
    real(c_double) :: ones(1) = 1
    integer(c_int64_t) :: n_text, n_local, n_global
    character(kind=c_char) :: text(4096)
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
    n_text = size(text)
    if (context_describe(context, text, n_text) /= 0 .or. text(n_text) /= c_null_char) error stop "text"
    if (context_reduce(context, 0, 1_c_int64_t, ones) /= 0) error stop "reduce"
    points%x = array_t(c_loc(x), [5, 2], [2, 1], 1, 0)   ! x(n_axis, n_point) is [n_point, n_axis] of C
    if (domain_create_points(context, points, domain) /= 0) error stop "points"
    if (domain_n_points(domain, n_local, n_global) /= 0 .or. n_global /= 5 * nint(ones(1))) error stop "count"
    call domain_destroy(domain)
    call context_destroy(context)
#ifdef WITH_mpi
    call MPI_Finalize()
#endif
    if (rank == 0) print '(a)', "all as expected"
end program
