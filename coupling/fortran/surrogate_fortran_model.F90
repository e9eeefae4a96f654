! SPDX-License-Identifier: Apache-2.0
#include "macros.inc"
! Part of module surrogate: models, properties of their cards, check cases.
module surrogate_fortran_model
    use, intrinsic :: iso_c_binding
    use surrogate_fortran_base
    use surrogate_fortran_context
    implicit none
    private

    type, extends(surrogate_object), public :: surrogate_model
    contains
        final :: model_final, model_finals
    end type
    type, extends(surrogate_object), public :: surrogate_check_case
    contains
        final :: case_final, case_finals
    end type

    integer(c_int), parameter, public :: surrogate_field = 0, surrogate_coordinate = 1, surrogate_class = 2, surrogate_cloud = 3
    integer(c_int), parameter, public :: surrogate_points = 0, surrogate_sphere = 1
    integer(c_int), parameter, public :: surrogate_on_input = 0, surrogate_on_output = 1, surrogate_on_clouds = 2, &
        surrogate_on_nodes = 3, surrogate_coordinates = 4
    integer(c_int), parameter, public :: surrogate_real = 0, surrogate_integer = 1

    ! The structs of the same names, with texts of Fortran.
    type, public :: surrogate_field_info
        character(len=:), allocatable :: name, unit
        integer(c_int32_t) :: role = 0, axis = -1
        real(c_double) :: mean = 0, std = 1, min = 0, max = 0
    end type
    type, public :: surrogate_input_statistics
        real(c_double), allocatable :: mean(:), covariance(:, :)   ! n_feature; empty if the card says nothing
        real(c_double) :: quantile = 0, distance = 0
        integer(c_int64_t) :: n_samples = 0
    end type
    type, public :: surrogate_domain_info
        integer(c_int32_t) :: kind = 0, keeps_clouds = 0
        character(len=:), allocatable :: grid
        integer(c_int64_t) :: n_lat = 0, n_lon = 0
    end type
    type, public :: surrogate_port_info
        character(len=:), allocatable :: name
        integer(c_int64_t) :: n_channel = 0
        integer(c_int32_t) :: is_output = 0, location = 0, kind = 0
    end type

    ! A named weight for surrogate_model_create, created by surrogate_make_tensor; or a tensor of a
    ! check case. Fortran's t(n2, n1) is C's [n1][n2].
    type, public :: surrogate_tensor
        character(len=256) :: name = ""
        type(surrogate_array) :: array
    end type

    type, bind(c) :: c_field_info
        type(c_ptr) :: name, unit
        integer(c_int32_t) :: role, axis
        real(c_double) :: mean, std, min, max
    end type
    type, bind(c) :: c_pooled_info
        integer(c_int32_t) :: n_feature
        type(c_ptr) :: mean, covariance
        real(c_double) :: quantile, distance
        integer(c_int64_t) :: n_samples
    end type
    type, bind(c) :: c_domain_info
        integer(c_int32_t) :: kind, keeps_clouds
        type(c_ptr) :: grid
        integer(c_int64_t) :: n_lat, n_lon
    end type
    type, bind(c) :: c_port_info
        type(c_ptr) :: name
        integer(c_int64_t) :: n_channel
        integer(c_int32_t) :: is_output, location, kind
    end type
    type, bind(c) :: c_tensor
        type(c_ptr) :: name, data
        integer(c_int64_t) :: shape(8)
        integer(c_int32_t) :: n_dim, dtype
    end type
    type :: c_name
        character(kind=c_char), allocatable :: letters(:)
    end type

    interface
        function c_model_load(context, path, model) bind(c, name="surrogate_model_load") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: context
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), intent(out) :: model
            integer(c_int) :: found
        end function
        function c_model_load_memory(context, bytes, n_bytes, model) &
            bind(c, name="surrogate_model_load_memory") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: context, bytes
            integer(c_int64_t), value :: n_bytes
            type(c_ptr), intent(out) :: model
            integer(c_int) :: found
        end function
        function c_model_create(context, card, n_tensors, tensors, model) &
            bind(c, name="surrogate_model_create") result(found)
            import :: c_char, c_int, c_int32_t, c_ptr, c_tensor
            type(c_ptr), value :: context
            character(kind=c_char), intent(in) :: card(*)
            integer(c_int32_t), value :: n_tensors
            type(c_tensor), intent(in) :: tensors(*)
            type(c_ptr), intent(out) :: model
            integer(c_int) :: found
        end function
        function c_model_save(model, path) bind(c, name="surrogate_model_save") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: model
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int) :: found
        end function
        function c_model_n_inputs(model, n) bind(c, name="surrogate_model_n_inputs") result(found)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: model
            integer(c_int32_t), intent(out) :: n
            integer(c_int) :: found
        end function
        function c_model_n_outputs(model, n) bind(c, name="surrogate_model_n_outputs") result(found)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: model
            integer(c_int32_t), intent(out) :: n
            integer(c_int) :: found
        end function
        function c_model_input(model, index, info) bind(c, name="surrogate_model_input") result(found)
            import :: c_field_info, c_int, c_int32_t, c_ptr
            type(c_ptr), value :: model
            integer(c_int32_t), value :: index
            type(c_field_info), intent(out) :: info
            integer(c_int) :: found
        end function
        function c_model_output(model, index, info) bind(c, name="surrogate_model_output") result(found)
            import :: c_field_info, c_int, c_int32_t, c_ptr
            type(c_ptr), value :: model
            integer(c_int32_t), value :: index
            type(c_field_info), intent(out) :: info
            integer(c_int) :: found
        end function
        function c_model_pooled(model, info) bind(c, name="surrogate_model_input_statistics") result(found)
            import :: c_int, c_pooled_info, c_ptr
            type(c_ptr), value :: model
            type(c_pooled_info), intent(out) :: info
            integer(c_int) :: found
        end function
        function c_model_hash(model, hash) bind(c, name="surrogate_model_hash") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: model
            integer(c_int64_t), intent(out) :: hash
            integer(c_int) :: found
        end function
        function c_model_domain(model, is_output, info) bind(c, name="surrogate_model_domain") result(found)
            import :: c_domain_info, c_int, c_int32_t, c_ptr
            type(c_ptr), value :: model
            integer(c_int32_t), value :: is_output
            type(c_domain_info), intent(out) :: info
            integer(c_int) :: found
        end function
        function c_model_n_ports(model, n) bind(c, name="surrogate_model_n_ports") result(found)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: model
            integer(c_int32_t), intent(out) :: n
            integer(c_int) :: found
        end function
        function c_model_port(model, index, info) bind(c, name="surrogate_model_port") result(found)
            import :: c_int, c_int32_t, c_port_info, c_ptr
            type(c_ptr), value :: model
            integer(c_int32_t), value :: index
            type(c_port_info), intent(out) :: info
            integer(c_int) :: found
        end function
        function c_model_port_is_optional(model, index, is_optional) &
            bind(c, name="surrogate_model_port_is_optional") result(found)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: model
            integer(c_int32_t), value :: index
            integer(c_int32_t), intent(out) :: is_optional
            integer(c_int) :: found
        end function
        function c_model_family(model, text, n_text) bind(c, name="surrogate_model_family") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: model, text
            integer(c_int64_t), intent(inout) :: n_text
            integer(c_int) :: found
        end function
        function c_model_describe(model, text, n_text) bind(c, name="surrogate_model_describe") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: model, text
            integer(c_int64_t), intent(inout) :: n_text
            integer(c_int) :: found
        end function
        subroutine c_model_destroy(model) bind(c, name="surrogate_model_destroy")
            import :: c_ptr
            type(c_ptr), intent(inout) :: model
        end subroutine
        function c_check_case_load(context, path, check_case) bind(c, name="surrogate_check_case_load") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: context
            character(kind=c_char), intent(in) :: path(*)
            type(c_ptr), intent(out) :: check_case
            integer(c_int) :: found
        end function
        function c_check_case_n_tensors(check_case, n) bind(c, name="surrogate_check_case_n_tensors") result(found)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: check_case
            integer(c_int32_t), intent(out) :: n
            integer(c_int) :: found
        end function
        function c_check_case_tensor(check_case, index, tensor) &
            bind(c, name="surrogate_check_case_tensor") result(found)
            import :: c_int, c_int32_t, c_ptr, c_tensor
            type(c_ptr), value :: check_case
            integer(c_int32_t), value :: index
            type(c_tensor), intent(out) :: tensor
            integer(c_int) :: found
        end function
        subroutine c_check_case_destroy(check_case) bind(c, name="surrogate_check_case_destroy")
            import :: c_ptr
            type(c_ptr), intent(inout) :: check_case
        end subroutine
        function c_model_check_bound(model, precision, is_double, official, bound) &
            bind(c, name="surrogate_model_check_bound") result(found)
            import :: c_char, c_double, c_int, c_int32_t, c_ptr
            type(c_ptr), value :: model
            character(kind=c_char), intent(in) :: precision(*)
            integer(c_int32_t), value :: is_double
            real(c_double), value :: official
            real(c_double), intent(out) :: bound
            integer(c_int) :: found
        end function
        function c_make_tensor(array, name, tensor) bind(c, name="surrogate_fortran_tensor") result(found)
            import :: c_char, c_int, c_tensor, surrogate_array
            type(surrogate_array), intent(in) :: array
            character(kind=c_char), intent(in) :: name(*)
            type(c_tensor), intent(out) :: tensor
            integer(c_int) :: found
        end function
    end interface

    public :: surrogate_model_load, surrogate_model_load_memory, surrogate_model_create, surrogate_model_save, &
        surrogate_model_n_inputs, surrogate_model_n_outputs, surrogate_model_input, surrogate_model_output, &
        surrogate_model_input_statistics, surrogate_model_hash, surrogate_model_domain, surrogate_model_n_ports, &
        surrogate_model_port, surrogate_model_port_is_optional, surrogate_model_family, surrogate_model_describe, &
        surrogate_model_destroy, &
        surrogate_model_check_bound, surrogate_make_tensor
    public :: surrogate_check_case_load, surrogate_check_case_n_tensors, surrogate_check_case_tensor, &
        surrogate_check_case_destroy

contains

    ! Reads a model file; collective over the context.
    subroutine surrogate_model_load(model, context, path, status)
        type(surrogate_model), intent(inout) :: model
        type(surrogate_context), intent(in) :: context
        character(len=*), intent(in) :: path
        integer(c_int), intent(out), optional :: status
        call surrogate_model_destroy(model)
        call finish(c_model_load(context%handle, trim(path)//c_null_char, model%handle), "surrogate_model_load", status)
    end subroutine

    ! bytes: a contiguous array of any type on rank 0, the content of a model file. Other ranks may
    ! pass an empty array.
    subroutine surrogate_model_load_memory(model, context, bytes, status)
        type(surrogate_model), intent(inout) :: model
        type(surrogate_context), intent(in) :: context
        ANY_ARRAY, intent(in), target :: bytes
        integer(c_int), intent(out), optional :: status
        type(surrogate_array) :: view
        integer(c_int64_t) :: n_byte
        integer(c_int) :: failed
        call surrogate_model_destroy(model)
        view = surrogate_array_of(bytes)
        n_byte = product(view%shape(1:view%n_dim)) * view%n_byte
        if (c_is_contiguous(view) == 0) then   ! a size below 0 is refused on all ranks
            failed = c_fail(c_null_ptr, surrogate_shape, "bytes: expected a contiguous array"//c_null_char)
            n_byte = -failed
        end if
        call finish(c_model_load_memory(context%handle, view%data, n_byte, model%handle), "surrogate_model_load_memory", &
            status)
    end subroutine

    ! tensors: created by surrogate_make_tensor; card and tensors of rank 0 are used.
    subroutine surrogate_model_create(model, context, card, tensors, status)
        type(surrogate_model), intent(inout) :: model
        type(surrogate_context), intent(in) :: context
        character(len=*), intent(in) :: card
        type(surrogate_tensor), intent(in) :: tensors(:)
        integer(c_int), intent(out), optional :: status
        type(c_tensor) :: given(size(tensors))
        type(c_name), target :: names(size(tensors))
        integer(c_int) :: found, each
        integer :: i
        call surrogate_model_destroy(model)
        found = surrogate_success
        do i = 1, size(tensors)
            names(i)%letters = name_of(tensors(i)%name)
            each = c_make_tensor(tensors(i)%array, names(i)%letters, given(i))
            given(i)%name = c_loc(names(i)%letters(1))
            if (found == surrogate_success) found = each
        end do
        found = agree(context, found)
        if (found == surrogate_success) found = c_model_create(context%handle, trim(card)//c_null_char, &
            int(size(tensors), c_int32_t), given, model%handle)
        call finish(found, "surrogate_model_create", status)
    end subroutine

    function surrogate_make_tensor(name, array) result(tensor)
        character(len=*), intent(in) :: name
        ANY_ARRAY, intent(in), target :: array
        type(surrogate_tensor) :: tensor
        tensor%name = name
        tensor%array = surrogate_array_of(array)
    end function

    subroutine surrogate_model_save(model, path, status)
        type(surrogate_model), intent(in) :: model
        character(len=*), intent(in) :: path
        integer(c_int), intent(out), optional :: status
        call finish(c_model_save(model%handle, trim(path)//c_null_char), "surrogate_model_save", status)
    end subroutine

    subroutine surrogate_model_n_inputs(model, n, status)
        type(surrogate_model), intent(in) :: model
        integer(c_int32_t), intent(out) :: n
        integer(c_int), intent(out), optional :: status
        call finish(c_model_n_inputs(model%handle, n), "surrogate_model_n_inputs", status)
    end subroutine

    subroutine surrogate_model_n_outputs(model, n, status)
        type(surrogate_model), intent(in) :: model
        integer(c_int32_t), intent(out) :: n
        integer(c_int), intent(out), optional :: status
        call finish(c_model_n_outputs(model%handle, n), "surrogate_model_n_outputs", status)
    end subroutine

    ! index counts from 0.
    subroutine surrogate_model_input(model, index, info, status)
        type(surrogate_model), intent(in) :: model
        integer(c_int32_t), intent(in) :: index
        type(surrogate_field_info), intent(out) :: info
        integer(c_int), intent(out), optional :: status
        type(c_field_info) :: given
        integer(c_int) :: found
        found = c_model_input(model%handle, index, given)
        if (found == surrogate_success) call take_field(given, info)
        call finish(found, "surrogate_model_input", status)
    end subroutine

    subroutine surrogate_model_output(model, index, info, status)
        type(surrogate_model), intent(in) :: model
        integer(c_int32_t), intent(in) :: index
        type(surrogate_field_info), intent(out) :: info
        integer(c_int), intent(out), optional :: status
        type(c_field_info) :: given
        integer(c_int) :: found
        found = c_model_output(model%handle, index, given)
        if (found == surrogate_success) call take_field(given, info)
        call finish(found, "surrogate_model_output", status)
    end subroutine

    subroutine take_field(given, info)
        type(c_field_info), intent(in) :: given
        type(surrogate_field_info), intent(inout) :: info
        info%name = surrogate_text(given%name)
        info%unit = surrogate_text(given%unit)
        info%role = given%role
        info%axis = given%axis
        info%mean = given%mean
        info%std = given%std
        info%min = given%min
        info%max = given%max
    end subroutine

    subroutine surrogate_model_input_statistics(model, info, status)
        type(surrogate_model), intent(in) :: model
        type(surrogate_input_statistics), intent(out) :: info
        integer(c_int), intent(out), optional :: status
        type(c_pooled_info) :: given
        real(c_double), pointer :: mean(:), covariance(:, :)
        integer(c_int) :: found
        found = c_model_pooled(model%handle, given)
        if (found == surrogate_success .and. given%n_feature > 0) then
            call c_f_pointer(given%mean, mean, [given%n_feature])
            call c_f_pointer(given%covariance, covariance, [given%n_feature, given%n_feature])
            allocate (info%mean(given%n_feature), info%covariance(given%n_feature, given%n_feature))
            info%mean(:) = mean
            info%covariance(:, :) = covariance
            info%quantile = given%quantile
            info%distance = given%distance
            info%n_samples = given%n_samples
        else
            allocate (info%mean(0), info%covariance(0, 0))
        end if
        call finish(found, "surrogate_model_input_statistics", status)
    end subroutine

    ! hash: the 64 bits of C's uint64_t, as a signed number.
    subroutine surrogate_model_hash(model, hash, status)
        type(surrogate_model), intent(in) :: model
        integer(c_int64_t), intent(out) :: hash
        integer(c_int), intent(out), optional :: status
        call finish(c_model_hash(model%handle, hash), "surrogate_model_hash", status)
    end subroutine

    subroutine surrogate_model_domain(model, is_output, info, status)
        type(surrogate_model), intent(in) :: model
        integer(c_int32_t), intent(in) :: is_output
        type(surrogate_domain_info), intent(out) :: info
        integer(c_int), intent(out), optional :: status
        type(c_domain_info) :: given
        integer(c_int) :: found
        found = c_model_domain(model%handle, is_output, given)
        if (found == surrogate_success) then
            info%kind = given%kind
            info%keeps_clouds = given%keeps_clouds
            info%grid = surrogate_text(given%grid)
            info%n_lat = given%n_lat
            info%n_lon = given%n_lon
        end if
        call finish(found, "surrogate_model_domain", status)
    end subroutine

    subroutine surrogate_model_n_ports(model, n, status)
        type(surrogate_model), intent(in) :: model
        integer(c_int32_t), intent(out) :: n
        integer(c_int), intent(out), optional :: status
        call finish(c_model_n_ports(model%handle, n), "surrogate_model_n_ports", status)
    end subroutine

    subroutine surrogate_model_port(model, index, info, status)
        type(surrogate_model), intent(in) :: model
        integer(c_int32_t), intent(in) :: index
        type(surrogate_port_info), intent(out) :: info
        integer(c_int), intent(out), optional :: status
        type(c_port_info) :: given
        integer(c_int) :: found
        found = c_model_port(model%handle, index, given)
        if (found == surrogate_success) then
            info%name = surrogate_text(given%name)
            info%n_channel = given%n_channel
            info%is_output = given%is_output
            info%location = given%location
            info%kind = given%kind
        end if
        call finish(found, "surrogate_model_port", status)
    end subroutine

    subroutine surrogate_model_port_is_optional(model, index, is_optional, status)
        type(surrogate_model), intent(in) :: model
        integer(c_int32_t), intent(in) :: index
        integer(c_int32_t), intent(out) :: is_optional
        integer(c_int), intent(out), optional :: status
        call finish(c_model_port_is_optional(model%handle, index, is_optional), "surrogate_model_port_is_optional", status)
    end subroutine

    subroutine surrogate_model_family(model, text, status)
        type(surrogate_model), intent(in) :: model
        character(len=:), allocatable, intent(out) :: text
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        call read_text(c_model_family, model%handle, text, found)
        call finish(found, "surrogate_model_family", status)
    end subroutine

    ! Returns a JSON object.
    subroutine surrogate_model_describe(model, text, status)
        type(surrogate_model), intent(in) :: model
        character(len=:), allocatable, intent(out) :: text
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        call read_text(c_model_describe, model%handle, text, found)
        call finish(found, "surrogate_model_describe", status)
    end subroutine

    subroutine surrogate_model_check_bound(model, precision, is_double, official, bound, status)
        type(surrogate_model), intent(in) :: model
        character(len=*), intent(in) :: precision
        integer(c_int32_t), intent(in) :: is_double
        real(c_double), intent(in) :: official
        real(c_double), intent(out) :: bound
        integer(c_int), intent(out), optional :: status
        call finish(c_model_check_bound(model%handle, trim(precision)//c_null_char, is_double, official, bound), &
            "surrogate_model_check_bound", status)
    end subroutine

    subroutine surrogate_model_destroy(model)
        type(surrogate_model), intent(inout) :: model
        call c_model_destroy(model%handle)
    end subroutine

    subroutine model_final(model)
        type(surrogate_model), intent(inout) :: model
        call c_model_destroy(model%handle)
    end subroutine

    subroutine model_finals(model)
        type(surrogate_model), intent(inout) :: model(:)
        integer :: i
        do i = 1, size(model)
            call c_model_destroy(model(i)%handle)
        end do
    end subroutine

    ! ---- check case ----

    subroutine surrogate_check_case_load(check_case, context, path, status)
        type(surrogate_check_case), intent(inout) :: check_case
        type(surrogate_context), intent(in) :: context
        character(len=*), intent(in) :: path
        integer(c_int), intent(out), optional :: status
        call surrogate_check_case_destroy(check_case)
        call finish(c_check_case_load(context%handle, trim(path)//c_null_char, check_case%handle), &
            "surrogate_check_case_load", status)
    end subroutine

    subroutine surrogate_check_case_n_tensors(check_case, n, status)
        type(surrogate_check_case), intent(in) :: check_case
        integer(c_int32_t), intent(out) :: n
        integer(c_int), intent(out), optional :: status
        call finish(c_check_case_n_tensors(check_case%handle, n), "surrogate_check_case_n_tensors", status)
    end subroutine

    ! tensor%array: location of the numbers, in memory of the check case; for c_f_pointer. Tensors
    ! of more than 5 axes are an error.
    subroutine surrogate_check_case_tensor(check_case, index, tensor, status)
        type(surrogate_check_case), intent(in) :: check_case
        integer(c_int32_t), intent(in) :: index
        type(surrogate_tensor), intent(out) :: tensor
        integer(c_int), intent(out), optional :: status
        type(c_tensor) :: given
        integer(c_int) :: found
        found = c_check_case_tensor(check_case%handle, index, given)
        if (found == surrogate_success) then
            tensor%name = surrogate_text(given%name)
            tensor%array = surrogate_make_array(given%data, given%shape(given%n_dim:1:-1), dtype=given%dtype)
            if (given%n_dim > size(tensor%array%shape)) found = c_fail(c_null_ptr, surrogate_not_supported, &
                trim(tensor%name)//": has more than 5 axes"//c_null_char)
        end if
        call finish(found, "surrogate_check_case_tensor", status)
    end subroutine

    subroutine surrogate_check_case_destroy(check_case)
        type(surrogate_check_case), intent(inout) :: check_case
        call c_check_case_destroy(check_case%handle)
    end subroutine

    subroutine case_final(check_case)
        type(surrogate_check_case), intent(inout) :: check_case
        call c_check_case_destroy(check_case%handle)
    end subroutine

    subroutine case_finals(check_case)
        type(surrogate_check_case), intent(inout) :: check_case(:)
        integer :: i
        do i = 1, size(check_case)
            call c_check_case_destroy(check_case(i)%handle)
        end do
    end subroutine
end module
