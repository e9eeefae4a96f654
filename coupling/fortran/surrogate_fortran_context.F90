! SPDX-License-Identifier: Apache-2.0
! Part of module surrogate: options and context.
module surrogate_fortran_context
    use, intrinsic :: iso_c_binding
    use surrogate_fortran_base
    implicit none
    private

    type, extends(surrogate_object), public :: surrogate_options
    contains
        final :: options_final, options_finals
    end type
    type, extends(surrogate_object), public :: surrogate_context
    contains
        final :: context_final, context_finals
    end type

    integer(c_int), parameter, public :: surrogate_sum = 0, surrogate_max = 1, surrogate_min = 2

    interface
        function c_options_create(options) bind(c, name="surrogate_options_create") result(found)
            import :: c_int, c_ptr
            type(c_ptr), intent(out) :: options
            integer(c_int) :: found
        end function
        function c_options_set(options, key, value) bind(c, name="surrogate_options_set") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: options
            character(kind=c_char), intent(in) :: key(*)
            character(kind=c_char), intent(in) :: value(*)
            integer(c_int) :: found
        end function
        subroutine c_options_destroy(options) bind(c, name="surrogate_options_destroy")
            import :: c_ptr
            type(c_ptr), intent(inout) :: options
        end subroutine
        function c_context_create(options, context) bind(c, name="surrogate_context_create") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: options
            type(c_ptr), intent(out) :: context
            integer(c_int) :: found
        end function
#ifdef SURROGATE_HAVE_MPI
        function c_context_create_fint(comm, options, context) &
            bind(c, name="surrogate_context_create_fint") result(found)
            import :: c_int, c_ptr
            integer(c_int), value :: comm
            type(c_ptr), value :: options
            type(c_ptr), intent(out) :: context
            integer(c_int) :: found
        end function
#endif
        function c_context_rank(context, rank, size) bind(c, name="surrogate_context_rank") result(found)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: context
            integer(c_int32_t), intent(out) :: rank, size
            integer(c_int) :: found
        end function
        function c_context_agree(context, status, text) bind(c, name="surrogate_context_agree") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: context, text
            integer(c_int), value :: status
            integer(c_int) :: found
        end function
        function c_context_reduce(context, op, n, values) bind(c, name="surrogate_context_reduce") result(found)
            import :: c_double, c_int, c_int32_t, c_int64_t, c_ptr
            type(c_ptr), value :: context
            integer(c_int32_t), value :: op
            integer(c_int64_t), value :: n
            real(c_double), intent(inout) :: values(*)
            integer(c_int) :: found
        end function
        function c_context_describe(context, text, n_text) bind(c, name="surrogate_context_describe") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: context, text
            integer(c_int64_t), intent(inout) :: n_text
            integer(c_int) :: found
        end function
        function c_context_set_log(context, log, user) bind(c, name="surrogate_context_set_log") result(found)
            import :: c_funptr, c_int, c_ptr
            type(c_ptr), value :: context, user
            type(c_funptr), value :: log
            integer(c_int) :: found
        end function
        subroutine c_context_destroy(context) bind(c, name="surrogate_context_destroy")
            import :: c_ptr
            type(c_ptr), intent(inout) :: context
        end subroutine
    end interface

    ! A procedure that receives texts of characters, surrogate_text(text); user is passed through.
    abstract interface
        subroutine surrogate_log_function(user, text) bind(c)
            import :: c_ptr
            type(c_ptr), value :: user, text
        end subroutine
    end interface

    ! call surrogate_context_create(context [, comm] [, options] [, options_object] [, status])
    !   comm     integer of Fortran's MPI, any kind; with module surrogate_f08 also type(MPI_Comm). Absent: one rank,
    !            without MPI. Collective over comm
    !   options  "precision=fp32 threads=2": keys and values of surrogate_options_set
    interface surrogate_context_create
        module procedure create_alone
#ifdef SURROGATE_HAVE_MPI
        module procedure create_int32, create_int64
#endif
    end interface

    ! Returns the text of the last failure of a context or, without a context, of this thread's last
    ! failed call.
    interface surrogate_error
        module procedure error_of_thread, error_of_context
    end interface

    public :: surrogate_options_create, surrogate_options_set, surrogate_options_destroy
    public :: surrogate_context_create, surrogate_context_rank, surrogate_context_agree, surrogate_context_fail, &
        surrogate_context_reduce, surrogate_context_describe, surrogate_context_set_log, surrogate_context_destroy, &
        surrogate_error, surrogate_log_function
    ! For the other modules of this library.
    public :: take_options, drop_options, agree

contains

    function error_of_thread() result(text)
        character(len=:), allocatable :: text
        text = surrogate_error_of(c_null_ptr)
    end function

    function error_of_context(context) result(text)
        type(surrogate_context), intent(in) :: context
        character(len=:), allocatable :: text
        text = surrogate_error_of(context%handle)
    end function

    ! ---- options ----

    subroutine surrogate_options_create(options, status)
        type(surrogate_options), intent(inout) :: options
        integer(c_int), intent(out), optional :: status
        call surrogate_options_destroy(options)
        call finish(c_options_create(options%handle), "surrogate_options_create", status)
    end subroutine

    subroutine surrogate_options_set(options, key, value, status)
        type(surrogate_options), intent(in) :: options
        character(len=*), intent(in) :: key, value
        integer(c_int), intent(out), optional :: status
        call finish(c_options_set(options%handle, trim(key)//c_null_char, trim(value)//c_null_char), &
            "surrogate_options_set", status)
    end subroutine

    subroutine surrogate_options_destroy(options)
        type(surrogate_options), intent(inout) :: options
        call c_options_destroy(options%handle)
    end subroutine

    subroutine options_final(options)
        type(surrogate_options), intent(inout) :: options
        call c_options_destroy(options%handle)
    end subroutine

    subroutine options_finals(options)
        type(surrogate_options), intent(inout) :: options(:)
        integer :: i
        do i = 1, size(options)
            call c_options_destroy(options(i)%handle)
        end do
    end subroutine

    ! Creates options for one call of C, from a text or an object; freed by drop_options.
    subroutine take_options(text, object, made, options, found)
        character(len=*), intent(in), optional :: text
        type(surrogate_options), intent(in), optional :: object
        type(c_ptr), intent(out) :: made, options
        integer(c_int), intent(out) :: found
        found = surrogate_success
        made = c_null_ptr
        options = c_null_ptr
        if (present(text) .and. present(object)) then
            found = c_fail(c_null_ptr, surrogate_invalid_argument, "options and options_object: expected one of them, &
                &found both"//c_null_char)
            return
        end if
        if (present(object)) options = object%handle
        if (.not. present(text)) return
        found = c_options_create(made)
        if (found == surrogate_success) found = set_all(made, text)
        options = made
    end subroutine

    ! Sets "key=value key=value".
    function set_all(options, text) result(found)
        type(c_ptr), intent(in) :: options
        character(len=*), intent(in) :: text
        integer(c_int) :: found
        integer :: first, last, equals
        found = surrogate_success
        last = 0
        do
            first = last + 1
            if (first > len(text)) return
            if (verify(text(first:), " ") == 0) return
            first = first + verify(text(first:), " ") - 1
            last = len(text)
            if (scan(text(first:), " ") > 0) last = first + scan(text(first:), " ") - 2
            equals = index(text(first:last), "=")
            if (equals == 0) then
                found = c_fail(c_null_ptr, surrogate_invalid_argument, "options: expected key=value key=value .., found '"// &
                    text(first:last)//"'"//c_null_char)
            else
                found = c_options_set(options, text(first:first + equals - 2)//c_null_char, &
                    text(first + equals:last)//c_null_char)
            end if
            if (found /= surrogate_success) return
        end do
    end function

    subroutine drop_options(made)
        type(c_ptr), intent(inout) :: made
        if (c_associated(made)) call c_options_destroy(made)
    end subroutine

    ! ---- context ----

    subroutine create_alone(context, options, options_object, status)
        type(surrogate_context), intent(inout) :: context
        character(len=*), intent(in), optional :: options
        type(surrogate_options), intent(in), optional :: options_object
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: made, taken
        integer(c_int) :: found
        call surrogate_context_destroy(context)
        call take_options(options, options_object, made, taken, found)
        if (found == surrogate_success) found = c_context_create(taken, context%handle)
        call drop_options(made)
        call finish(found, "surrogate_context_create", status)
    end subroutine

#ifdef SURROGATE_HAVE_MPI
    subroutine create_int32(context, comm, options, options_object, status)
        type(surrogate_context), intent(inout) :: context
        integer(c_int32_t), intent(in) :: comm
        character(len=*), intent(in), optional :: options
        type(surrogate_options), intent(in), optional :: options_object
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: made, taken
        integer(c_int) :: found
        call surrogate_context_destroy(context)
        call take_options(options, options_object, made, taken, found)
        if (found == surrogate_success) found = c_context_create_fint(comm, taken, context%handle)
        call drop_options(made)
        call finish(found, "surrogate_context_create", status)
    end subroutine

    subroutine create_int64(context, comm, options, options_object, status)
        type(surrogate_context), intent(inout) :: context
        integer(c_int64_t), intent(in) :: comm
        character(len=*), intent(in), optional :: options
        type(surrogate_options), intent(in), optional :: options_object
        integer(c_int), intent(out), optional :: status
        call create_int32(context, int(comm, c_int32_t), options, options_object, status)
    end subroutine
#endif

    subroutine surrogate_context_rank(context, rank, size, status)
        type(surrogate_context), intent(in) :: context
        integer(c_int32_t), intent(out) :: rank, size
        integer(c_int), intent(out), optional :: status
        call finish(c_context_rank(context%handle, rank, size), "surrogate_context_rank", status)
    end subroutine

    ! Returns one status on all ranks; collective.
    ! mine  this rank's status;   text  its error text; absent: surrogate_error(context)
    subroutine surrogate_context_agree(context, mine, text, status)
        type(surrogate_context), intent(in) :: context
        integer(c_int), intent(in) :: mine
        character(len=*), intent(in), optional :: text
        integer(c_int), intent(out), optional :: status
        character(kind=c_char), allocatable, target :: letters(:)
        type(c_ptr) :: address
        address = optional_text(text, letters)
        call finish(c_context_agree(context%handle, mine, address), "surrogate_context_agree", status)
    end subroutine

    ! Returns the status of this rank's preparations, with this thread's text, on all ranks.
    function agree(context, mine) result(found)
        type(surrogate_context), intent(in) :: context
        integer(c_int), intent(in) :: mine
        integer(c_int) :: found
        character(kind=c_char), allocatable, target :: letters(:)
        type(c_ptr) :: address
        address = optional_text(surrogate_error_of(c_null_ptr), letters)
        found = c_context_agree(context%handle, mine, address)
    end function

    ! Reports a failure of the caller: stores the text for surrogate_error. status is mine.
    subroutine surrogate_context_fail(context, mine, text, status)
        type(surrogate_context), intent(in) :: context
        integer(c_int), intent(in) :: mine
        character(len=*), intent(in) :: text
        integer(c_int), intent(out), optional :: status
        call finish(c_fail(context%handle, mine, trim(text)//c_null_char), "surrogate_context_fail", status)
    end subroutine

    ! Computes the sum, maximum or minimum (op: surrogate_sum, ..) over the ranks, in place;
    ! collective.
    subroutine surrogate_context_reduce(context, op, values, status)
        type(surrogate_context), intent(in) :: context
        integer(c_int), intent(in) :: op
        real(c_double), intent(inout) :: values(:)
        integer(c_int), intent(out), optional :: status
        call finish(c_context_reduce(context%handle, op, int(size(values), c_int64_t), values), &
            "surrogate_context_reduce", status)
    end subroutine

    subroutine surrogate_context_describe(context, text, status)
        type(surrogate_context), intent(in) :: context
        character(len=:), allocatable, intent(out) :: text
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        call read_text(c_context_describe, context%handle, text, found)
        call finish(found, "surrogate_context_describe", status)
    end subroutine

    ! Absent log: no output. user, for example c_loc of a target, is passed to log.
    subroutine surrogate_context_set_log(context, log, user, status)
        type(surrogate_context), intent(in) :: context
        procedure(surrogate_log_function), optional :: log
        type(c_ptr), intent(in), optional, target :: user
        integer(c_int), intent(out), optional :: status
        type(c_funptr) :: function_
        type(c_ptr) :: passed
        function_ = c_null_funptr
        passed = c_null_ptr
        if (present(log)) function_ = c_funloc(log)
        if (present(user)) passed = user
        call finish(c_context_set_log(context%handle, function_, passed), "surrogate_context_set_log", status)
    end subroutine

    subroutine surrogate_context_destroy(context)
        type(surrogate_context), intent(inout) :: context
        call c_context_destroy(context%handle)
    end subroutine

    subroutine context_final(context)
        type(surrogate_context), intent(inout) :: context
        call c_context_destroy(context%handle)
    end subroutine

    subroutine context_finals(context)
        type(surrogate_context), intent(inout) :: context(:)
        integer :: i
        do i = 1, size(context)
            call c_context_destroy(context(i)%handle)
        end do
    end subroutine
end module
