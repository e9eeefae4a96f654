! SPDX-License-Identifier: Apache-2.0
#include "macros.inc"
! Common parts of module surrogate: status codes, texts, handles and arrays.
module surrogate_fortran_base
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    implicit none
    private

    integer(c_int), parameter, public :: surrogate_success = 0, surrogate_invalid_argument = 1, &
        surrogate_unknown_name = 2, surrogate_shape = 3, surrogate_io = 4, surrogate_bad_file = 5, &
        surrogate_not_supported = 6, surrogate_no_memory = 7, surrogate_not_finite = 8, &
        surrogate_limit = 9, surrogate_mpi = 10, surrogate_broken = 11, surrogate_internal = 12, &
        surrogate_device = 13, surrogate_out_of_range = 14, surrogate_callback = 15
    integer(c_int), parameter, public :: surrogate_float32 = 0, surrogate_float64 = 1, &
        surrogate_int32 = 2, surrogate_int64 = 3, surrogate_uint8 = 4
    integer(c_int), parameter, public :: surrogate_host = 0, surrogate_cuda = 1

    ! A handle of the library. Its finalizer destroys the object. A handle has one owner: an
    ! assignment stops the program, unless both sides are empty; use a pointer to share an object.
    ! `handle` is for direct calls of functions of the C interface.
    type, public :: surrogate_object
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure, private :: refuse_assignment
        generic :: assignment(=) => refuse_assignment
    end type

    ! Location of an array. Element (i1, i2, ..), counted from 0, is at data + sum of i_k stride(k),
    ! counted in elements. Created by surrogate_array_of and surrogate_make_array, and accepted in
    ! place of an array.
    integer, parameter :: max_rank = 5
    integer(c_int64_t), parameter :: view_mark = 8319681722223587961_c_int64_t   ! VIEW_MARK of arrays.h
    type, bind(c), public :: surrogate_array
        integer(c_int64_t) :: mark = view_mark
        type(c_ptr) :: data = c_null_ptr
        integer(c_int64_t) :: shape(max_rank) = 0
        integer(c_int64_t) :: stride(max_rank) = 0
        integer(c_int64_t) :: n_byte = 8
        type(c_ptr) :: found = c_null_ptr
        integer(c_int32_t) :: n_dim = 1
        integer(c_int32_t) :: dtype = surrogate_float64
        integer(c_int32_t) :: space = surrogate_host
        integer(c_int32_t) :: reserved = 0
    end type

    ! Structs of the C interface.
    type, bind(c), public :: c_array
        type(c_ptr) :: data
        integer(c_int64_t) :: shape(2), stride(2)
        integer(c_int32_t) :: dtype, space
    end type
    type, bind(c), public :: c_named_array
        type(c_ptr) :: name
        type(c_array) :: array
    end type

    ! surrogate_make_array(address, shape [, stride] [, dtype] [, space]): describes an array by its
    ! address, for device memory and for compilers without assumed rank.
    !   address  c_loc(a(1, 1)): of the first element
    !   shape    of up to 5 dimensions, any integer kind; stride: distances in elements, default: contiguous
    !   dtype    default surrogate_float64
    !   space    surrogate_host (default) or surrogate_cuda
    interface surrogate_make_array
        module procedure make_array_int32, make_array_int64
    end interface

#ifndef SURROGATE_FORTRAN_FALLBACK
    ! Returns the location of an array. For components of arrays of derived types: gfortran copies
    ! cells%h for every procedure of Fortran, and not for this one, which is a procedure of C.
    interface
        function surrogate_array_of(array) bind(c, name="surrogate_fortran_array_of") result(view)
            import :: surrogate_array
            type(*), dimension(..), intent(in), target :: array
            type(surrogate_array) :: view
        end function
    end interface
#endif

    interface
        function c_version() bind(c, name="surrogate_version") result(text)
            import :: c_ptr
            type(c_ptr) :: text
        end function
        function c_status_name(status) bind(c, name="surrogate_status_name") result(text)
            import :: c_int, c_ptr
            integer(c_int), value :: status
            type(c_ptr) :: text
        end function
        function c_error(context) bind(c, name="surrogate_error") result(text)
            import :: c_ptr
            type(c_ptr), value :: context
            type(c_ptr) :: text
        end function
        function c_strlen(text) bind(c, name="strlen") result(n)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: n
        end function
        subroutine c_free(memory) bind(c, name="surrogate_fortran_free")
            import :: c_ptr
            type(c_ptr), intent(inout) :: memory
        end subroutine
        function c_copy(array, what, is_integer, n, copy) bind(c, name="surrogate_fortran_copy") result(status)
            import :: c_ptr, c_char, c_int, c_int32_t, c_int64_t
            type(c_ptr), value :: array
            character(kind=c_char), intent(in) :: what(*)
            integer(c_int32_t), value :: is_integer
            integer(c_int64_t), value :: n
            type(c_ptr), intent(out) :: copy
            integer(c_int) :: status
        end function
        function c_column(array, what, column) bind(c, name="surrogate_fortran_column") result(status)
            import :: surrogate_array, c_array, c_char, c_int
            type(surrogate_array), intent(in) :: array
            character(kind=c_char), intent(in) :: what(*)
            type(c_array), intent(out) :: column
            integer(c_int) :: status
        end function
        function c_rows(array, what, rows) bind(c, name="surrogate_fortran_rows") result(status)
            import :: surrogate_array, c_array, c_char, c_int
            type(surrogate_array), intent(in) :: array
            character(kind=c_char), intent(in) :: what(*)
            type(c_array), intent(out) :: rows
            integer(c_int) :: status
        end function
        function c_is_contiguous(array) bind(c, name="surrogate_fortran_is_contiguous") result(is_contiguous)
            import :: surrogate_array, c_int32_t
            type(surrogate_array), intent(in) :: array
            integer(c_int32_t) :: is_contiguous
        end function
        function c_fail(context, status, text) bind(c, name="surrogate_context_fail") result(same)
            import :: c_ptr, c_int, c_char
            type(c_ptr), value :: context
            integer(c_int), value :: status
            character(kind=c_char), intent(in) :: text(*)
            integer(c_int) :: same
        end function
        function c_bind(as_array, as_block, object, name, unit, array, component_dim) &
            bind(c, name="surrogate_fortran_bind") result(status)
            import :: surrogate_array, c_ptr, c_funptr, c_char, c_int, c_int32_t
            type(c_funptr), value :: as_array, as_block
            type(c_ptr), value :: object, unit
            character(kind=c_char), intent(in) :: name(*)
            type(surrogate_array), intent(in) :: array
            integer(c_int32_t), value :: component_dim
            integer(c_int) :: status
        end function
    end interface

    ! Functions of the C interface that copy a text out.
    abstract interface
        function text_function(object, text, n_text) bind(c) result(status)
            import :: c_ptr, c_int, c_int64_t
            type(c_ptr), value :: object, text
            integer(c_int64_t), intent(inout) :: n_text
            integer(c_int) :: status
        end function
        ! .. that bind a field: array is a surrogate_array or a surrogate_block of C.
        function bind_function(object, name, unit, array) bind(c) result(status)
            import :: c_ptr, c_char, c_int
            type(c_ptr), value :: object, unit, array
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: status
        end function
    end interface

    public :: surrogate_version, surrogate_status_name, surrogate_error_of, surrogate_text, &
        surrogate_make_array, surrogate_array_of
    ! For the other modules of this library.
    public :: finish, optional_text, read_text, characters, bind_field, text_function, bind_function, name_of, stop_with, &
        c_free, c_copy, c_column, c_rows, c_is_contiguous, c_fail

contains

    ! Returns the version of the running library, such as "0.2.0".
    function surrogate_version() result(text)
        character(len=:), allocatable :: text
        text = surrogate_text(c_version())
    end function

    ! Returns the name of a status, such as "SHAPE" for surrogate_shape.
    function surrogate_status_name(status) result(text)
        integer(c_int), intent(in) :: status
        character(len=:), allocatable :: text
        text = surrogate_text(c_status_name(status))
    end function

    function surrogate_error_of(context) result(text)
        type(c_ptr), intent(in) :: context
        character(len=:), allocatable :: text
        text = surrogate_text(c_error(context))
    end function

    ! Returns a text of C, such as the argument of a log function; "" for a null pointer.
    function surrogate_text(address) result(text)
        type(c_ptr), intent(in) :: address
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        text = ""
        if (.not. c_associated(address)) return
        call c_f_pointer(address, letters, [c_strlen(address)])
        text = characters(letters)
    end function

    function characters(letters) result(text)
        character(kind=c_char), intent(in) :: letters(:)
        character(len=:), allocatable :: text
        integer :: i
        allocate (character(len=size(letters)) :: text)
        do i = 1, size(letters)
            text(i:i) = letters(i)
        end do
    end function

    ! Ends a procedure: returns the status to the caller, or stops with the library's text.
    subroutine finish(found, where, status)
        integer(c_int), intent(in) :: found
        character(len=*), intent(in) :: where
        integer(c_int), intent(out), optional :: status
        if (present(status)) status = found
        if (present(status) .or. found == surrogate_success) return
        call stop_with(where // ": " // surrogate_status_name(found) // ": " // surrogate_error_of(c_null_ptr))
    end subroutine

    subroutine stop_with(text)
        character(len=*), intent(in) :: text
#ifdef SURROGATE_FORTRAN_FALLBACK
        write (error_unit, '(a)') text
        stop 1
#else
        flush (error_unit)
        error stop text
#endif
    end subroutine

    subroutine refuse_assignment(left, right)
        class(surrogate_object), intent(inout) :: left
        class(surrogate_object), intent(in) :: right
        if (.not. (c_associated(left%handle) .or. c_associated(right%handle))) return
        call stop_with("surrogate: an object was assigned to another. A handle has one owner: use a pointer to the object, &
            &or pass it as an argument")
    end subroutine

    ! Returns the address of a text for C, c_null_ptr if it is absent. `kept` stores the text, and
    ! must be a target of the caller.
    function optional_text(text, kept) result(address)
        character(len=*), intent(in), optional :: text
        character(kind=c_char), allocatable, target, intent(out) :: kept(:)
        type(c_ptr) :: address
        integer :: i, n
        address = c_null_ptr
        if (.not. present(text)) return
        n = len_trim(text)
        allocate (kept(n + 1))
        do i = 1, n
            kept(i) = text(i:i)
        end do
        kept(n + 1) = c_null_char
        address = c_loc(kept(1))
    end function

    subroutine read_text(get, object, text, found)
        procedure(text_function) :: get
        type(c_ptr), intent(in) :: object
        character(len=:), allocatable, intent(out) :: text
        integer(c_int), intent(out) :: found
        character(kind=c_char), allocatable, target :: letters(:)
        integer(c_int64_t) :: n
        text = ""
        n = 0
        found = get(object, c_null_ptr, n)
        if (found /= surrogate_success) return
        allocate (letters(n))
        found = get(object, c_loc(letters(1)), n)
        if (found == surrogate_success) text = characters(letters(1:n - 1))
    end subroutine

    ! Binds a field as an array of C, or as a block if it is not an array of C or as_array is
    ! absent.
    function bind_field(as_block, object, name, unit, array, dim, as_array) result(found)
        procedure(bind_function) :: as_block
        type(c_ptr), intent(in) :: object
        character(len=*), intent(in) :: name
        character(len=*), intent(in), optional :: unit
        type(surrogate_array), intent(in) :: array
        integer(c_int), intent(in), optional :: dim
        procedure(bind_function), optional :: as_array
        integer(c_int) :: found
        character(kind=c_char), allocatable, target :: unit_letters(:)
        type(c_ptr) :: unit_address
        type(c_funptr) :: array_function
        integer(c_int32_t) :: component_dim
        component_dim = 0
        if (present(dim)) component_dim = dim
        array_function = c_null_funptr
        if (present(as_array)) array_function = c_funloc(as_array)
        unit_address = optional_text(unit, unit_letters)
        found = c_bind(array_function, c_funloc(as_block), object, trim(name)//c_null_char, unit_address, array, &
            component_dim)
    end function

    ! Returns a name with its final zero, as letters of a struct.
    function name_of(text) result(letters)
        character(len=*), intent(in) :: text
        character(kind=c_char), allocatable :: letters(:)
        integer :: i
        allocate (letters(len_trim(text) + 1))
        do i = 1, len_trim(text)
            letters(i) = text(i:i)
        end do
        letters(len_trim(text) + 1) = c_null_char
    end function

    ! address is a VALUE because gfortran 12 assumes that later calls do not change the target of an
    ! INTENT(IN) c_ptr. If the address is stored in another argument, or is optional, that argument
    ! is a TARGET for the same reason.
    function make_array_int64(address, shape, stride, dtype, space) result(array)
        type(c_ptr), value :: address
        integer(c_int64_t), intent(in) :: shape(:)
        integer(c_int64_t), intent(in), optional :: stride(:)
        integer(c_int), intent(in), optional :: dtype, space
        type(surrogate_array) :: array
        integer(c_int64_t) :: distance
        integer :: d
        array%data = address
        array%n_dim = int(min(size(shape), max_rank), c_int32_t)
        if (present(dtype)) array%dtype = dtype
        if (present(space)) array%space = space
        if (array%dtype == surrogate_float32 .or. array%dtype == surrogate_int32) array%n_byte = 4
        if (array%dtype == surrogate_uint8) array%n_byte = 1
        distance = 1
        do d = 1, array%n_dim
            array%shape(d) = max(shape(d), 0_c_int64_t)
            array%stride(d) = distance
            if (present(stride)) array%stride(d) = stride(d)
            distance = distance * array%shape(d)
        end do
        if (size(shape) > max_rank) array%dtype = -1
    end function

    function make_array_int32(address, shape, stride, dtype, space) result(array)
        type(c_ptr), value :: address
        integer(c_int32_t), intent(in) :: shape(:)
        integer(c_int32_t), intent(in), optional :: stride(:)
        integer(c_int), intent(in), optional :: dtype, space
        type(surrogate_array) :: array
        if (present(stride)) then
            array = make_array_int64(address, int(shape, c_int64_t), int(stride, c_int64_t), dtype, space)
        else
            array = make_array_int64(address, int(shape, c_int64_t), dtype=dtype, space=space)
        end if
    end function

#ifdef SURROGATE_FORTRAN_FALLBACK
    function surrogate_array_of(array) result(view)
        type(surrogate_array), intent(in) :: array
        type(surrogate_array) :: view
        view = array
    end function
#endif
end module
