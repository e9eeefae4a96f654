! SPDX-License-Identifier: Apache-2.0
#include "macros.inc"
! Part of module surrogate: plans.
module surrogate_fortran_plan
    use, intrinsic :: iso_c_binding
    use surrogate_fortran_base
    use surrogate_fortran_context
    use surrogate_fortran_model
    use surrogate_fortran_domain
    implicit none
    private

    type, extends(surrogate_object), public :: surrogate_plan
    contains
        final :: plan_final, plan_finals
    end type

    ! A named array of surrogate_plan_run_network, created by surrogate_make_named_array.
    type, public :: surrogate_named_array
        character(len=256) :: name = ""
        type(surrogate_array) :: array
    end type

    type, public :: surrogate_range_info
        character(len=:), allocatable :: name
        real(c_double) :: min = 0, max = 0
        integer(c_int64_t) :: n_points = 0, n_outside = 0
        real(c_double) :: worst = 0
    end type

    type, bind(c) :: c_range_info
        type(c_ptr) :: name
        real(c_double) :: min, max
        integer(c_int64_t) :: n_points, n_outside
        real(c_double) :: worst
    end type
    type :: c_name
        character(kind=c_char), allocatable :: letters(:)
    end type

    interface
        function c_plan_create(model, input, output, options, plan) &
            bind(c, name="surrogate_plan_create") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: model, input, output, options
            type(c_ptr), intent(out) :: plan
            integer(c_int) :: found
        end function
        function c_plan_open(path, points, options, plan) bind(c, name="surrogate_plan_open") result(found)
            import :: c_char, c_int, c_points, c_ptr
            character(kind=c_char), intent(in) :: path(*)
            type(c_points), intent(in) :: points
            type(c_ptr), value :: options
            type(c_ptr), intent(out) :: plan
            integer(c_int) :: found
        end function
#ifdef SURROGATE_HAVE_MPI
        function c_plan_open_fint(comm, path, points, options, plan) &
            bind(c, name="surrogate_plan_open_fint") result(found)
            import :: c_char, c_int, c_points, c_ptr
            integer(c_int), value :: comm
            character(kind=c_char), intent(in) :: path(*)
            type(c_points), intent(in) :: points
            type(c_ptr), value :: options
            type(c_ptr), intent(out) :: plan
            integer(c_int) :: found
        end function
#endif
        function c_plan_context(plan, context) bind(c, name="surrogate_plan_context") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: plan
            type(c_ptr), intent(out) :: context
            integer(c_int) :: found
        end function
        function c_plan_model(plan, model) bind(c, name="surrogate_plan_model") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: plan
            type(c_ptr), intent(out) :: model
            integer(c_int) :: found
        end function
        function c_plan_domain(plan, is_output, domain) bind(c, name="surrogate_plan_domain") result(found)
            import :: c_int, c_int32_t, c_ptr
            type(c_ptr), value :: plan
            integer(c_int32_t), value :: is_output
            type(c_ptr), intent(out) :: domain
            integer(c_int) :: found
        end function
        function c_plan_bind_input(plan, name, unit, array) bind(c, name="surrogate_plan_bind_input") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan, unit, array
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_plan_bind_output(plan, name, unit, array) bind(c, name="surrogate_plan_bind_output") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan, unit, array
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_plan_bind_input_block(plan, name, unit, block) &
            bind(c, name="surrogate_plan_bind_input_block") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan, unit, block
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_plan_bind_output_block(plan, name, unit, block) &
            bind(c, name="surrogate_plan_bind_output_block") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan, unit, block
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_plan_bind_output_gradient(plan, name, unit, array) &
            bind(c, name="surrogate_plan_bind_output_gradient") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan, unit, array
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_plan_bind_output_gradient_block(plan, name, unit, block) &
            bind(c, name="surrogate_plan_bind_output_gradient_block") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan, unit, block
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_plan_bind_input_gradient(plan, name, unit, array) &
            bind(c, name="surrogate_plan_bind_input_gradient") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan, unit, array
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_plan_bind_input_gradient_block(plan, name, unit, block) &
            bind(c, name="surrogate_plan_bind_input_gradient_block") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan, unit, block
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_plan_run_backward(plan) bind(c, name="surrogate_plan_run_backward") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: plan
            integer(c_int) :: found
        end function
        function c_plan_bind_output_tangent(plan, name, unit, array) &
            bind(c, name="surrogate_plan_bind_output_tangent") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan, unit, array
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_plan_bind_output_tangent_block(plan, name, unit, block) &
            bind(c, name="surrogate_plan_bind_output_tangent_block") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan, unit, block
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_plan_bind_input_tangent(plan, name, unit, array) &
            bind(c, name="surrogate_plan_bind_input_tangent") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan, unit, array
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_plan_bind_input_tangent_block(plan, name, unit, block) &
            bind(c, name="surrogate_plan_bind_input_tangent_block") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan, unit, block
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_plan_run_tangent(plan) bind(c, name="surrogate_plan_run_tangent") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: plan
            integer(c_int) :: found
        end function
        function c_plan_agree(plan, status, text) bind(c, name="surrogate_plan_agree") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: plan, text
            integer(c_int), value :: status
            integer(c_int) :: found
        end function
        function c_plan_unbind(plan) bind(c, name="surrogate_plan_unbind") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: plan
            integer(c_int) :: found
        end function
        function c_plan_run(plan) bind(c, name="surrogate_plan_run") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: plan
            integer(c_int) :: found
        end function
        function c_plan_run_with_error(plan, status, text) bind(c, name="surrogate_plan_run_with_error") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: plan
            integer(c_int), value :: status
            character(kind=c_char), intent(in) :: text(*)
            integer(c_int) :: found
        end function
        function c_plan_run_network(plan, n_inputs, inputs, n_outputs, outputs) &
            bind(c, name="surrogate_plan_run_network") result(found)
            import :: c_int, c_int32_t, c_named_array, c_ptr
            type(c_ptr), value :: plan
            integer(c_int32_t), value :: n_inputs, n_outputs
            type(c_named_array), intent(in) :: inputs(*)
            type(c_named_array), intent(in) :: outputs(*)
            integer(c_int) :: found
        end function
        function c_plan_set_stream(plan, stream) bind(c, name="surrogate_plan_set_stream") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: plan, stream
            integer(c_int) :: found
        end function
        function c_plan_wait(plan) bind(c, name="surrogate_plan_wait") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: plan
            integer(c_int) :: found
        end function
        function c_plan_option(plan, key, text, n_text) bind(c, name="surrogate_plan_option") result(found)
            import :: c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: plan, text
            character(kind=c_char), intent(in) :: key(*)
            integer(c_int64_t), intent(inout) :: n_text
            integer(c_int) :: found
        end function
        function c_plan_counter(plan, key, value) bind(c, name="surrogate_plan_counter") result(found)
            import :: c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: plan
            character(kind=c_char), intent(in) :: key(*)
            integer(c_int64_t), intent(out) :: value
            integer(c_int) :: found
        end function
        function c_plan_range(plan, input, info) bind(c, name="surrogate_plan_range") result(found)
            import :: c_int, c_int32_t, c_ptr, c_range_info
            type(c_ptr), value :: plan
            integer(c_int32_t), value :: input
            type(c_range_info), intent(out) :: info
            integer(c_int) :: found
        end function
        function c_plan_describe(plan, text, n_text) bind(c, name="surrogate_plan_describe") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: plan, text
            integer(c_int64_t), intent(inout) :: n_text
            integer(c_int) :: found
        end function
        subroutine c_plan_destroy(plan) bind(c, name="surrogate_plan_destroy")
            import :: c_ptr
            type(c_ptr), intent(inout) :: plan
        end subroutine
    end interface

    ! call surrogate_plan_open(plan [, comm], path, x [, global_id] [, cloud] [, weight] [, options]
    !                          [, options_object] [, status])
    ! Creates context, model, domain and plan in one call.
    interface surrogate_plan_open
        module procedure open_alone
#ifdef SURROGATE_HAVE_MPI
        module procedure open_int32, open_int64
#endif
    end interface

    public :: surrogate_plan_create, surrogate_plan_open, surrogate_plan_context, surrogate_plan_agree, surrogate_plan_model, &
        surrogate_plan_domain, surrogate_plan_bind_input, surrogate_plan_bind_output, surrogate_plan_bind_input_block, &
        surrogate_plan_bind_output_gradient, surrogate_plan_bind_input_gradient, &
        surrogate_plan_bind_output_gradient_block, surrogate_plan_bind_input_gradient_block, surrogate_plan_run_backward, &
        surrogate_plan_bind_output_tangent, surrogate_plan_bind_input_tangent, &
        surrogate_plan_bind_output_tangent_block, surrogate_plan_bind_input_tangent_block, surrogate_plan_run_tangent, &
        surrogate_plan_bind_output_block, surrogate_plan_unbind, surrogate_plan_run, surrogate_plan_run_with_error, &
        surrogate_plan_run_network, surrogate_plan_set_stream, surrogate_plan_wait, surrogate_plan_option, &
        surrogate_plan_counter, surrogate_plan_range, surrogate_plan_describe, surrogate_plan_destroy, &
        surrogate_make_named_array

contains

    ! Collective. output absent: the same domain as input.
    subroutine surrogate_plan_create(plan, model, input, output, options, options_object, status)
        type(surrogate_plan), intent(inout) :: plan
        type(surrogate_model), intent(in) :: model
        type(surrogate_domain), intent(in) :: input
        type(surrogate_domain), intent(in), optional :: output
        character(len=*), intent(in), optional :: options
        type(surrogate_options), intent(in), optional :: options_object
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: made, taken, other
        integer(c_int) :: found
        call surrogate_plan_destroy(plan)
        other = c_null_ptr
        if (present(output)) other = output%handle
        call take_options(options, options_object, made, taken, found)
        if (found == surrogate_success) found = c_plan_create(model%handle, input%handle, other, taken, plan%handle)
        call drop_options(made)
        call finish(found, "surrogate_plan_create", status)
    end subroutine

    subroutine open_alone(plan, path, x, global_id, cloud, weight, options, options_object, status)
        type(surrogate_plan), intent(inout) :: plan
        character(len=*), intent(in) :: path
        ANY_ARRAY, intent(in), target :: x
        ANY_ARRAY, intent(in), optional, target :: global_id, cloud, weight
        character(len=*), intent(in), optional :: options
        type(surrogate_options), intent(in), optional :: options_object
        integer(c_int), intent(out), optional :: status
        type(packed_points) :: packed
        type(c_ptr) :: made, taken
        integer(c_int) :: found
        call surrogate_plan_destroy(plan)
        call take_options(options, options_object, made, taken, found)
        if (found == surrogate_success) then
            call take_points(surrogate_array_of(x), packed, found, global_id, cloud, weight)
            found = c_plan_open(trim(path)//c_null_char, packed%points, taken, plan%handle)
            call c_free_points(packed)
        end if
        call drop_options(made)
        call finish(found, "surrogate_plan_open", status)
    end subroutine

#ifdef SURROGATE_HAVE_MPI
    subroutine open_int32(plan, comm, path, x, global_id, cloud, weight, options, options_object, status)
        type(surrogate_plan), intent(inout) :: plan
        integer(c_int32_t), intent(in) :: comm
        character(len=*), intent(in) :: path
        ANY_ARRAY, intent(in), target :: x
        ANY_ARRAY, intent(in), optional, target :: global_id, cloud, weight
        character(len=*), intent(in), optional :: options
        type(surrogate_options), intent(in), optional :: options_object
        integer(c_int), intent(out), optional :: status
        type(packed_points) :: packed
        type(c_ptr) :: made, taken
        integer(c_int) :: found
        call surrogate_plan_destroy(plan)
        call take_options(options, options_object, made, taken, found)
        if (found == surrogate_success) then
            call take_points(surrogate_array_of(x), packed, found, global_id, cloud, weight)
            found = c_plan_open_fint(comm, trim(path)//c_null_char, packed%points, taken, plan%handle)
            call c_free_points(packed)
        end if
        call drop_options(made)
        call finish(found, "surrogate_plan_open", status)
    end subroutine

    subroutine open_int64(plan, comm, path, x, global_id, cloud, weight, options, options_object, status)
        type(surrogate_plan), intent(inout) :: plan
        integer(c_int64_t), intent(in) :: comm
        character(len=*), intent(in) :: path
        ANY_ARRAY, intent(in), target :: x
        ANY_ARRAY, intent(in), optional, target :: global_id, cloud, weight
        character(len=*), intent(in), optional :: options
        type(surrogate_options), intent(in), optional :: options_object
        integer(c_int), intent(out), optional :: status
        call open_int32(plan, int(comm, c_int32_t), path, x, global_id, cloud, weight, options, options_object, status)
    end subroutine
#endif

    subroutine surrogate_plan_context(plan, context, status)
        type(surrogate_plan), intent(in) :: plan
        type(surrogate_context), intent(inout) :: context
        integer(c_int), intent(out), optional :: status
        call surrogate_context_destroy(context)
        call finish(c_plan_context(plan%handle, context%handle), "surrogate_plan_context", status)
    end subroutine

    subroutine surrogate_plan_model(plan, model, status)
        type(surrogate_plan), intent(in) :: plan
        type(surrogate_model), intent(inout) :: model
        integer(c_int), intent(out), optional :: status
        call surrogate_model_destroy(model)
        call finish(c_plan_model(plan%handle, model%handle), "surrogate_plan_model", status)
    end subroutine

    subroutine surrogate_plan_domain(plan, is_output, domain, status)
        type(surrogate_plan), intent(in) :: plan
        integer(c_int32_t), intent(in) :: is_output
        type(surrogate_domain), intent(inout) :: domain
        integer(c_int), intent(out), optional :: status
        call surrogate_domain_destroy(domain)
        call finish(c_plan_domain(plan%handle, is_output, domain%handle), "surrogate_plan_domain", status)
    end subroutine

    ! surrogate_context_agree over the ranks of the plan.
    subroutine surrogate_plan_agree(plan, mine, text, status)
        type(surrogate_plan), intent(in) :: plan
        integer(c_int), intent(in) :: mine
        character(len=*), intent(in), optional :: text
        integer(c_int), intent(out), optional :: status
        character(kind=c_char), allocatable, target :: letters(:)
        type(c_ptr) :: address
        address = optional_text(text, letters)
        call finish(c_plan_agree(plan%handle, mine, address), "surrogate_plan_agree", status)
    end subroutine

    ! ---- fields ----
    ! array: real(4) or real(8), of rank 0 to 4 over the points, first dimension fastest, without a
    ! copy: sections such as h(1:n_x, 1:n_y) of an array with ghosts are not copied. The plan stores
    ! the address: the actual argument must be a TARGET that exists, and is not allocated again, as
    ! long as the plan runs. It is INTENT(INOUT) also for inputs, which are only read, so that the
    ! compiler rejects expressions and constants, whose memory ends with the call.
    ! For an input of role surrogate_cloud: array(n_clouds), or a scalar variable for all clouds.
    !   component_dim   for a vector, bound under the name before the dot: the dimension of array,
    !                   1 .. rank, that runs over the components, in alphabetical order

    subroutine surrogate_plan_bind_input(plan, name, array, unit, component_dim, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(in), optional :: component_dim
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_plan_bind_input_block, plan%handle, name, unit, surrogate_array_of(array), &
            component_dim, c_plan_bind_input)
        call finish(found, "surrogate_plan_bind_input", status)
    end subroutine

    subroutine surrogate_plan_bind_output(plan, name, array, unit, component_dim, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(in), optional :: component_dim
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_plan_bind_output_block, plan%handle, name, unit, surrogate_array_of(array), &
            component_dim, c_plan_bind_output)
        call finish(found, "surrogate_plan_bind_output", status)
    end subroutine

    ! Always binds as a block, also if one stride is sufficient.
    subroutine surrogate_plan_bind_input_block(plan, name, array, unit, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_plan_bind_input_block, plan%handle, name, unit, surrogate_array_of(array))
        call finish(found, "surrogate_plan_bind_input_block", status)
    end subroutine

    subroutine surrogate_plan_bind_output_block(plan, name, array, unit, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_plan_bind_output_block, plan%handle, name, unit, surrogate_array_of(array))
        call finish(found, "surrogate_plan_bind_output_block", status)
    end subroutine

    ! Gradients, of a plan with option gradients=inputs: of outputs, which surrogate_plan_run_backward
    ! reads, and of inputs, which it writes.
    subroutine surrogate_plan_bind_output_gradient(plan, name, array, unit, component_dim, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(in), optional :: component_dim
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_plan_bind_output_gradient_block, plan%handle, name, unit, surrogate_array_of(array), &
            component_dim, c_plan_bind_output_gradient)
        call finish(found, "surrogate_plan_bind_output_gradient", status)
    end subroutine

    subroutine surrogate_plan_bind_input_gradient(plan, name, array, unit, component_dim, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(in), optional :: component_dim
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_plan_bind_input_gradient_block, plan%handle, name, unit, surrogate_array_of(array), &
            component_dim, c_plan_bind_input_gradient)
        call finish(found, "surrogate_plan_bind_input_gradient", status)
    end subroutine

    subroutine surrogate_plan_bind_output_gradient_block(plan, name, array, unit, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_plan_bind_output_gradient_block, plan%handle, name, unit, surrogate_array_of(array))
        call finish(found, "surrogate_plan_bind_output_gradient_block", status)
    end subroutine

    subroutine surrogate_plan_bind_input_gradient_block(plan, name, array, unit, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_plan_bind_input_gradient_block, plan%handle, name, unit, surrogate_array_of(array))
        call finish(found, "surrogate_plan_bind_input_gradient_block", status)
    end subroutine

    ! Tangents, of a plan with option gradients=inputs: directions of inputs, which
    ! surrogate_plan_run_tangent reads, and derivatives of outputs, which it writes.
    subroutine surrogate_plan_bind_output_tangent(plan, name, array, unit, component_dim, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(in), optional :: component_dim
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_plan_bind_output_tangent_block, plan%handle, name, unit, surrogate_array_of(array), &
            component_dim, c_plan_bind_output_tangent)
        call finish(found, "surrogate_plan_bind_output_tangent", status)
    end subroutine

    subroutine surrogate_plan_bind_input_tangent(plan, name, array, unit, component_dim, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(in), optional :: component_dim
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_plan_bind_input_tangent_block, plan%handle, name, unit, surrogate_array_of(array), &
            component_dim, c_plan_bind_input_tangent)
        call finish(found, "surrogate_plan_bind_input_tangent", status)
    end subroutine

    subroutine surrogate_plan_bind_output_tangent_block(plan, name, array, unit, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_plan_bind_output_tangent_block, plan%handle, name, unit, surrogate_array_of(array))
        call finish(found, "surrogate_plan_bind_output_tangent_block", status)
    end subroutine

    subroutine surrogate_plan_bind_input_tangent_block(plan, name, array, unit, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_plan_bind_input_tangent_block, plan%handle, name, unit, surrogate_array_of(array))
        call finish(found, "surrogate_plan_bind_input_tangent_block", status)
    end subroutine

    subroutine surrogate_plan_unbind(plan, status)
        type(surrogate_plan), intent(in) :: plan
        integer(c_int), intent(out), optional :: status
        call finish(c_plan_unbind(plan%handle), "surrogate_plan_unbind", status)
    end subroutine

    ! ---- runs ----

    subroutine surrogate_plan_run(plan, status)
        type(surrogate_plan), intent(in) :: plan
        integer(c_int), intent(out), optional :: status
        call finish(c_plan_run(plan%handle), "surrogate_plan_run", status)
    end subroutine

    subroutine surrogate_plan_run_backward(plan, status)
        type(surrogate_plan), intent(in) :: plan
        integer(c_int), intent(out), optional :: status
        call finish(c_plan_run_backward(plan%handle), "surrogate_plan_run_backward", status)
    end subroutine

    subroutine surrogate_plan_run_tangent(plan, status)
        type(surrogate_plan), intent(in) :: plan
        integer(c_int), intent(out), optional :: status
        call finish(c_plan_run_tangent(plan%handle), "surrogate_plan_run_tangent", status)
    end subroutine

    ! Called instead of surrogate_plan_run on a rank that cannot run. status is mine.
    subroutine surrogate_plan_run_with_error(plan, mine, text, status)
        type(surrogate_plan), intent(in) :: plan
        integer(c_int), intent(in) :: mine
        character(len=*), intent(in) :: text
        integer(c_int), intent(out), optional :: status
        call finish(c_plan_run_with_error(plan%handle, mine, trim(text)//c_null_char), "surrogate_plan_run_with_error", status)
    end subroutine

    ! Runs the bare network. inputs, outputs: created by surrogate_make_named_array, u(n_channel,
    ! n_point). A rank with invalid arrays takes part without arrays.
    subroutine surrogate_plan_run_network(plan, inputs, outputs, status)
        type(surrogate_plan), intent(in) :: plan
        type(surrogate_named_array), intent(in) :: inputs(:), outputs(:)
        integer(c_int), intent(out), optional :: status
        type(c_named_array) :: given_in(size(inputs)), given_out(size(outputs))
        type(c_name), target :: names_in(size(inputs)), names_out(size(outputs))
        integer(c_int) :: found, run
        found = surrogate_success
        call take_arrays(inputs, names_in, given_in, found)
        call take_arrays(outputs, names_out, given_out, found)
        if (found == surrogate_success) then
            found = c_plan_run_network(plan%handle, int(size(given_in), c_int32_t), given_in, &
                int(size(given_out), c_int32_t), given_out)
        else
            run = c_plan_run_with_error(plan%handle, found, surrogate_error()//c_null_char)
            if (run /= surrogate_success) found = run
        end if
        call finish(found, "surrogate_plan_run_network", status)
    end subroutine

    subroutine take_arrays(arrays, names, given, found)
        type(surrogate_named_array), intent(in) :: arrays(:)
        type(c_name), target, intent(inout) :: names(:)
        type(c_named_array), intent(out) :: given(:)
        integer(c_int), intent(inout) :: found
        integer(c_int) :: each
        integer :: i
        do i = 1, size(arrays)
            names(i)%letters = name_of(arrays(i)%name)
            given(i)%name = c_loc(names(i)%letters(1))
            each = c_rows(arrays(i)%array, names(i)%letters, given(i)%array)
            if (found == surrogate_success) found = each
        end do
    end subroutine

    function surrogate_make_named_array(name, array) result(named)
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        type(surrogate_named_array) :: named
        named%name = name
        named%array = surrogate_array_of(array)
    end function

    ! stream: a cudaStream_t, for example from acc_get_cuda_stream.
    subroutine surrogate_plan_set_stream(plan, stream, status)
        type(surrogate_plan), intent(in) :: plan
        type(c_ptr), intent(in) :: stream
        integer(c_int), intent(out), optional :: status
        call finish(c_plan_set_stream(plan%handle, stream), "surrogate_plan_set_stream", status)
    end subroutine

    subroutine surrogate_plan_wait(plan, status)
        type(surrogate_plan), intent(in) :: plan
        integer(c_int), intent(out), optional :: status
        call finish(c_plan_wait(plan%handle), "surrogate_plan_wait", status)
    end subroutine

    ! ---- queries ----

    ! Returns the value of an option in effect.
    subroutine surrogate_plan_option(plan, key, text, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: key
        character(len=:), allocatable, intent(out) :: text
        integer(c_int), intent(out), optional :: status
        character(kind=c_char), target :: letters(256)
        integer(c_int64_t) :: n
        integer(c_int) :: found
        n = size(letters)
        text = ""
        found = c_plan_option(plan%handle, trim(key)//c_null_char, c_loc(letters(1)), n)
        if (found == surrogate_success) text = characters(letters(1:n - 1))
        call finish(found, "surrogate_plan_option", status)
    end subroutine

    subroutine surrogate_plan_counter(plan, key, value, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=*), intent(in) :: key
        integer(c_int64_t), intent(out) :: value
        integer(c_int), intent(out), optional :: status
        call finish(c_plan_counter(plan%handle, trim(key)//c_null_char, value), "surrogate_plan_counter", status)
    end subroutine

    ! input counts from 0.
    subroutine surrogate_plan_range(plan, input, info, status)
        type(surrogate_plan), intent(in) :: plan
        integer(c_int32_t), intent(in) :: input
        type(surrogate_range_info), intent(out) :: info
        integer(c_int), intent(out), optional :: status
        type(c_range_info) :: given
        integer(c_int) :: found
        found = c_plan_range(plan%handle, input, given)
        if (found == surrogate_success) then
            info%name = surrogate_text(given%name)
            info%min = given%min
            info%max = given%max
            info%n_points = given%n_points
            info%n_outside = given%n_outside
            info%worst = given%worst
        end if
        call finish(found, "surrogate_plan_range", status)
    end subroutine

    subroutine surrogate_plan_describe(plan, text, status)
        type(surrogate_plan), intent(in) :: plan
        character(len=:), allocatable, intent(out) :: text
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        call read_text(c_plan_describe, plan%handle, text, found)
        call finish(found, "surrogate_plan_describe", status)
    end subroutine

    subroutine surrogate_plan_destroy(plan)
        type(surrogate_plan), intent(inout) :: plan
        call c_plan_destroy(plan%handle)
    end subroutine

    subroutine plan_final(plan)
        type(surrogate_plan), intent(inout) :: plan
        call c_plan_destroy(plan%handle)
    end subroutine

    subroutine plan_finals(plan)
        type(surrogate_plan), intent(inout) :: plan(:)
        integer :: i
        do i = 1, size(plan)
            call c_plan_destroy(plan(i)%handle)
        end do
    end subroutine
end module
