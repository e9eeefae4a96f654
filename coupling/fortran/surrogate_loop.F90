! SPDX-License-Identifier: Apache-2.0
#include "macros.inc"
! The surrogate in a solver's time loop: one procedure for each function of surrogate_timeloop.h,
! which has the contracts. Conventions as in module surrogate. (A module and a type cannot have the
! same name: the type is surrogate_timeloop.)
module surrogate_loop
    use, intrinsic :: iso_c_binding
    use surrogate_fortran_base
    use surrogate_fortran_context, only: surrogate_log_function
    use surrogate_fortran_plan, only: surrogate_plan
    implicit none
    private

    type, extends(surrogate_object), public :: surrogate_timeloop
    contains
        final :: loop_final, loop_finals
    end type

    integer(c_int), parameter, public :: surrogate_step_accepted = 0, surrogate_step_corrected = 1, surrogate_step_fallback = 2, &
        surrogate_step_rejected = 3, surrogate_step_stopped = 4

    type, public :: surrogate_guard_info
        integer(c_int64_t) :: n_violations = 0
        character(len=:), allocatable :: field
        real(c_double) :: fraction = 0, value = 0, limit = 0
    end type

    type, bind(c) :: c_guard_info
        integer(c_int64_t) :: n_violations
        type(c_ptr) :: field
        real(c_double) :: fraction, value, limit
    end type

    ! The solver's own step, for surrogate_timeloop_set_fallback; returns surrogate_success or its own status.
    abstract interface
        function surrogate_fallback_function(user, time_s, dt_s) bind(c) result(status)
            import :: c_ptr, c_double, c_int
            type(c_ptr), value :: user
            real(c_double), value :: time_s, dt_s
            integer(c_int) :: status
        end function
    end interface

    interface
        function c_timeloop_create(plan, loop) bind(c, name="surrogate_timeloop_create") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: plan
            type(c_ptr), intent(out) :: loop
            integer(c_int) :: found
        end function
        function c_timeloop_set(loop, key, value) bind(c, name="surrogate_timeloop_set") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: loop
            character(kind=c_char), intent(in) :: key(*)
            character(kind=c_char), intent(in) :: value(*)
            integer(c_int) :: found
        end function
        function c_timeloop_set_log(loop, log, user) bind(c, name="surrogate_timeloop_set_log") result(found)
            import :: c_funptr, c_int, c_ptr
            type(c_ptr), value :: loop, user
            type(c_funptr), value :: log
            integer(c_int) :: found
        end function
        function c_timeloop_bind(loop, name, unit, array) bind(c, name="surrogate_timeloop_bind") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: loop, unit, array
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_timeloop_bind_block(loop, name, unit, block) &
            bind(c, name="surrogate_timeloop_bind_block") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: loop, unit, block
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_timeloop_unbind(loop) bind(c, name="surrogate_timeloop_unbind") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: loop
            integer(c_int) :: found
        end function
        function c_timeloop_step_failed(loop, status, text) bind(c, name="surrogate_timeloop_step_with_error") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: loop
            integer(c_int), value :: status
            character(kind=c_char), intent(in) :: text(*)
            integer(c_int) :: found
        end function
        function c_timeloop_feed(loop, output, input) bind(c, name="surrogate_timeloop_connect") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: loop
            character(kind=c_char), intent(in) :: output(*)
            character(kind=c_char), intent(in) :: input(*)
            integer(c_int) :: found
        end function
        function c_timeloop_bind_state(loop, name, unit, array) &
            bind(c, name="surrogate_timeloop_bind_state") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: loop, unit, array
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_timeloop_bind_state_block(loop, name, unit, block) &
            bind(c, name="surrogate_timeloop_bind_state_block") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: loop, unit, block
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: found
        end function
        function c_timeloop_bounds(loop, output, min, max) bind(c, name="surrogate_timeloop_set_bounds") result(found)
            import :: c_char, c_double, c_int, c_ptr
            type(c_ptr), value :: loop
            character(kind=c_char), intent(in) :: output(*)
            real(c_double), value :: min, max
            integer(c_int) :: found
        end function
        function c_timeloop_conserve(loop, name, field, weight, tolerance) &
            bind(c, name="surrogate_timeloop_conserve") result(found)
            import :: c_char, c_double, c_int, c_ptr
            type(c_ptr), value :: loop, weight
            character(kind=c_char), intent(in) :: name(*)
            character(kind=c_char), intent(in) :: field(*)
            real(c_double), value :: tolerance
            integer(c_int) :: found
        end function
        function c_timeloop_add_source(loop, name, amount) bind(c, name="surrogate_timeloop_add_source") result(found)
            import :: c_char, c_double, c_int, c_ptr
            type(c_ptr), value :: loop
            character(kind=c_char), intent(in) :: name(*)
            real(c_double), value :: amount
            integer(c_int) :: found
        end function
        function c_timeloop_set_fallback(loop, step, user) &
            bind(c, name="surrogate_timeloop_set_fallback") result(found)
            import :: c_funptr, c_int, c_ptr
            type(c_ptr), value :: loop, user
            type(c_funptr), value :: step
            integer(c_int) :: found
        end function
        function c_timeloop_step(loop, dt_s, outcome) bind(c, name="surrogate_timeloop_step") result(found)
            import :: c_double, c_int, c_int32_t, c_ptr
            type(c_ptr), value :: loop
            real(c_double), value :: dt_s
            integer(c_int32_t), intent(out) :: outcome
            integer(c_int) :: found
        end function
        function c_timeloop_roll_out(loop, n_step, dt_s, n_done, outcome) &
            bind(c, name="surrogate_timeloop_rollout") result(found)
            import :: c_double, c_int, c_int32_t, c_int64_t, c_ptr
            type(c_ptr), value :: loop
            integer(c_int64_t), value :: n_step
            real(c_double), value :: dt_s
            integer(c_int64_t), intent(out) :: n_done
            integer(c_int32_t), intent(out) :: outcome
            integer(c_int) :: found
        end function
        function c_timeloop_advance(loop, dt_s) bind(c, name="surrogate_timeloop_advance") result(found)
            import :: c_double, c_int, c_ptr
            type(c_ptr), value :: loop
            real(c_double), value :: dt_s
            integer(c_int) :: found
        end function
        function c_timeloop_time(loop, time_s, step) bind(c, name="surrogate_timeloop_time") result(found)
            import :: c_double, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: loop
            real(c_double), intent(out) :: time_s
            integer(c_int64_t), intent(out) :: step
            integer(c_int) :: found
        end function
        function c_timeloop_set_time(loop, time_s, step) bind(c, name="surrogate_timeloop_set_time") result(found)
            import :: c_double, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: loop
            real(c_double), value :: time_s
            integer(c_int64_t), value :: step
            integer(c_int) :: found
        end function
        function c_timeloop_reason(loop, text, n_text) bind(c, name="surrogate_timeloop_reason") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: loop, text
            integer(c_int64_t), intent(inout) :: n_text
            integer(c_int) :: found
        end function
        function c_timeloop_guard(loop, guard, info) bind(c, name="surrogate_timeloop_guard") result(found)
            import :: c_char, c_guard_info, c_int, c_ptr
            type(c_ptr), value :: loop
            character(kind=c_char), intent(in) :: guard(*)
            type(c_guard_info), intent(out) :: info
            integer(c_int) :: found
        end function
        function c_timeloop_counter(loop, key, value) bind(c, name="surrogate_timeloop_counter") result(found)
            import :: c_char, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: loop
            character(kind=c_char), intent(in) :: key(*)
            integer(c_int64_t), intent(out) :: value
            integer(c_int) :: found
        end function
        function c_timeloop_report(loop, text, n_text) bind(c, name="surrogate_timeloop_report") result(found)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: loop, text
            integer(c_int64_t), intent(inout) :: n_text
            integer(c_int) :: found
        end function
        function c_timeloop_mark(loop) bind(c, name="surrogate_timeloop_snapshot") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: loop
            integer(c_int) :: found
        end function
        function c_timeloop_rewind(loop) bind(c, name="surrogate_timeloop_rollback") result(found)
            import :: c_int, c_ptr
            type(c_ptr), value :: loop
            integer(c_int) :: found
        end function
        function c_timeloop_save(loop, path) bind(c, name="surrogate_timeloop_save") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: loop
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int) :: found
        end function
        function c_timeloop_restore(loop, path) bind(c, name="surrogate_timeloop_restore") result(found)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value :: loop
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int) :: found
        end function
        subroutine c_timeloop_destroy(loop) bind(c, name="surrogate_timeloop_destroy")
            import :: c_ptr
            type(c_ptr), intent(inout) :: loop
        end subroutine
    end interface

    public :: surrogate_timeloop_create, surrogate_timeloop_set, surrogate_timeloop_set_log, surrogate_timeloop_bind, &
        surrogate_timeloop_bind_block, surrogate_timeloop_unbind, surrogate_timeloop_step_with_error, &
        surrogate_timeloop_connect, surrogate_timeloop_bind_state, &
        surrogate_timeloop_bind_state_block, surrogate_timeloop_set_bounds, surrogate_timeloop_conserve, &
        surrogate_timeloop_add_source, surrogate_timeloop_set_fallback, surrogate_timeloop_step, &
        surrogate_timeloop_rollout, surrogate_timeloop_advance, surrogate_timeloop_time, surrogate_timeloop_set_time, &
        surrogate_timeloop_reason, surrogate_timeloop_guard, surrogate_timeloop_counter, surrogate_timeloop_report, &
        surrogate_timeloop_snapshot, surrogate_timeloop_rollback, surrogate_timeloop_save, surrogate_timeloop_restore, &
        surrogate_timeloop_destroy, surrogate_fallback_function

contains

    ! The plan must outlive the loop.
    subroutine surrogate_timeloop_create(loop, plan, status)
        type(surrogate_timeloop), intent(inout) :: loop
        type(surrogate_plan), intent(in) :: plan
        integer(c_int), intent(out), optional :: status
        call surrogate_timeloop_destroy(loop)
        call finish(c_timeloop_create(plan%handle, loop%handle), "surrogate_timeloop_create", status)
    end subroutine

    subroutine surrogate_timeloop_set(loop, key, value, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: key, value
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_set(loop%handle, trim(key)//c_null_char, trim(value)//c_null_char), &
            "surrogate_timeloop_set", status)
    end subroutine

    subroutine surrogate_timeloop_set_log(loop, log, user, status)
        type(surrogate_timeloop), intent(in) :: loop
        procedure(surrogate_log_function), optional :: log
        type(c_ptr), intent(in), optional, target :: user
        integer(c_int), intent(out), optional :: status
        type(c_funptr) :: function_
        type(c_ptr) :: passed
        function_ = c_null_funptr
        passed = c_null_ptr
        if (present(log)) function_ = c_funloc(log)
        if (present(user)) passed = user
        call finish(c_timeloop_set_log(loop%handle, function_, passed), "surrogate_timeloop_set_log", status)
    end subroutine

    ! ---- fields: array, unit and component_dim as in surrogate_plan_bind_input ----

    subroutine surrogate_timeloop_bind(loop, name, array, unit, component_dim, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(in), optional :: component_dim
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_timeloop_bind_block, loop%handle, name, unit, surrogate_array_of(array), component_dim, &
            c_timeloop_bind)
        call finish(found, "surrogate_timeloop_bind", status)
    end subroutine

    subroutine surrogate_timeloop_bind_block(loop, name, array, unit, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_timeloop_bind_block, loop%handle, name, unit, surrogate_array_of(array))
        call finish(found, "surrogate_timeloop_bind_block", status)
    end subroutine

    subroutine surrogate_timeloop_unbind(loop, status)
        type(surrogate_timeloop), intent(in) :: loop
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_unbind(loop%handle), "surrogate_timeloop_unbind", status)
    end subroutine

    subroutine surrogate_timeloop_connect(loop, output, input, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: output, input
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_feed(loop%handle, trim(output)//c_null_char, trim(input)//c_null_char), &
            "surrogate_timeloop_connect", status)
    end subroutine

    subroutine surrogate_timeloop_bind_state(loop, name, array, unit, component_dim, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(in), optional :: component_dim
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_timeloop_bind_state_block, loop%handle, name, unit, surrogate_array_of(array), &
            component_dim, c_timeloop_bind_state)
        call finish(found, "surrogate_timeloop_bind_state", status)
    end subroutine

    subroutine surrogate_timeloop_bind_state_block(loop, name, array, unit, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_timeloop_bind_state_block, loop%handle, name, unit, surrogate_array_of(array))
        call finish(found, "surrogate_timeloop_bind_state_block", status)
    end subroutine

    ! ---- guards ----

    subroutine surrogate_timeloop_set_bounds(loop, output, min, max, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: output
        real(c_double), intent(in) :: min, max
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_bounds(loop%handle, trim(output)//c_null_char, min, max), "surrogate_timeloop_set_bounds", &
            status)
    end subroutine

    ! weight: real(4) or real(8), one for each of this rank's points of the output domain; absent:
    ! the weights of the domain. Invalid weights on one rank are an error on all ranks.
    subroutine surrogate_timeloop_conserve(loop, name, field, tolerance, weight, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: name, field
        real(c_double), intent(in) :: tolerance
        ANY_ARRAY, intent(in), optional, target :: weight
        integer(c_int), intent(out), optional :: status
        type(surrogate_array), target :: view
        type(c_ptr) :: copy
        real(c_double) :: given
        integer(c_int) :: found, called
        found = surrogate_success
        copy = c_null_ptr
        given = tolerance
        if (present(weight)) then
            view = surrogate_array_of(weight)
            found = c_copy(c_loc(view), "weight"//c_null_char, 0_c_int32_t, -1_c_int64_t, copy)
            if (found /= surrogate_success) given = -1   ! refused on all ranks
        end if
        called = c_timeloop_conserve(loop%handle, trim(name)//c_null_char, trim(field)//c_null_char, copy, given)
        if (found == surrogate_success) found = called
        call c_free(copy)
        call finish(found, "surrogate_timeloop_conserve", status)
    end subroutine

    subroutine surrogate_timeloop_add_source(loop, name, amount, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: name
        real(c_double), intent(in) :: amount
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_add_source(loop%handle, trim(name)//c_null_char, amount), "surrogate_timeloop_add_source", &
            status)
    end subroutine

    ! Absent step: no fallback. user, for example c_loc of the solver's state, is passed to step.
    subroutine surrogate_timeloop_set_fallback(loop, step, user, status)
        type(surrogate_timeloop), intent(in) :: loop
        procedure(surrogate_fallback_function), optional :: step
        type(c_ptr), intent(in), optional, target :: user
        integer(c_int), intent(out), optional :: status
        type(c_funptr) :: function_
        type(c_ptr) :: passed
        function_ = c_null_funptr
        passed = c_null_ptr
        if (present(step)) function_ = c_funloc(step)
        if (present(user)) passed = user
        call finish(c_timeloop_set_fallback(loop%handle, function_, passed), "surrogate_timeloop_set_fallback", status)
    end subroutine

    ! ---- steps ----

    subroutine surrogate_timeloop_step(loop, dt_s, outcome, status)
        type(surrogate_timeloop), intent(in) :: loop
        real(c_double), intent(in) :: dt_s
        integer(c_int), intent(out), optional :: outcome
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found, given
        given = surrogate_step_stopped
        found = c_timeloop_step(loop%handle, dt_s, given)
        if (present(outcome)) outcome = given
        call finish(found, "surrogate_timeloop_step", status)
    end subroutine

    ! Called instead of surrogate_timeloop_step on a rank that cannot step; all ranks return the
    ! first failure. status is mine.
    subroutine surrogate_timeloop_step_with_error(loop, mine, text, status)
        type(surrogate_timeloop), intent(in) :: loop
        integer(c_int), intent(in) :: mine
        character(len=*), intent(in) :: text
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_step_failed(loop%handle, mine, trim(text)//c_null_char), &
            "surrogate_timeloop_step_with_error", status)
    end subroutine

    subroutine surrogate_timeloop_rollout(loop, n_step, dt_s, n_done, outcome, status)
        type(surrogate_timeloop), intent(in) :: loop
        integer(c_int64_t), intent(in) :: n_step
        real(c_double), intent(in) :: dt_s
        integer(c_int64_t), intent(out), optional :: n_done
        integer(c_int), intent(out), optional :: outcome
        integer(c_int), intent(out), optional :: status
        integer(c_int64_t) :: done
        integer(c_int) :: found, given
        given = surrogate_step_stopped
        done = 0
        found = c_timeloop_roll_out(loop%handle, n_step, dt_s, done, given)
        if (present(n_done)) n_done = done
        if (present(outcome)) outcome = given
        call finish(found, "surrogate_timeloop_rollout", status)
    end subroutine

    subroutine surrogate_timeloop_advance(loop, dt_s, status)
        type(surrogate_timeloop), intent(in) :: loop
        real(c_double), intent(in) :: dt_s
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_advance(loop%handle, dt_s), "surrogate_timeloop_advance", status)
    end subroutine

    subroutine surrogate_timeloop_time(loop, time_s, step, status)
        type(surrogate_timeloop), intent(in) :: loop
        real(c_double), intent(out) :: time_s
        integer(c_int64_t), intent(out) :: step
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_time(loop%handle, time_s, step), "surrogate_timeloop_time", status)
    end subroutine

    subroutine surrogate_timeloop_set_time(loop, time_s, step, status)
        type(surrogate_timeloop), intent(in) :: loop
        real(c_double), intent(in) :: time_s
        integer(c_int64_t), intent(in) :: step
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_set_time(loop%handle, time_s, step), "surrogate_timeloop_set_time", status)
    end subroutine

    ! ---- queries ----

    subroutine surrogate_timeloop_reason(loop, text, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=:), allocatable, intent(out) :: text
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        call read_text(c_timeloop_reason, loop%handle, text, found)
        call finish(found, "surrogate_timeloop_reason", status)
    end subroutine

    subroutine surrogate_timeloop_guard(loop, guard, info, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: guard
        type(surrogate_guard_info), intent(out) :: info
        integer(c_int), intent(out), optional :: status
        type(c_guard_info) :: given
        integer(c_int) :: found
        found = c_timeloop_guard(loop%handle, trim(guard)//c_null_char, given)
        if (found == surrogate_success) then
            info%n_violations = given%n_violations
            info%field = surrogate_text(given%field)
            info%fraction = given%fraction
            info%value = given%value
            info%limit = given%limit
        end if
        call finish(found, "surrogate_timeloop_guard", status)
    end subroutine

    subroutine surrogate_timeloop_counter(loop, key, value, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: key
        integer(c_int64_t), intent(out) :: value
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_counter(loop%handle, trim(key)//c_null_char, value), "surrogate_timeloop_counter", status)
    end subroutine

    subroutine surrogate_timeloop_report(loop, text, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=:), allocatable, intent(out) :: text
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        call read_text(c_timeloop_report, loop%handle, text, found)
        call finish(found, "surrogate_timeloop_report", status)
    end subroutine

    ! ---- snapshots, rollback, checkpoints ----

    subroutine surrogate_timeloop_snapshot(loop, status)
        type(surrogate_timeloop), intent(in) :: loop
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_mark(loop%handle), "surrogate_timeloop_snapshot", status)
    end subroutine

    subroutine surrogate_timeloop_rollback(loop, status)
        type(surrogate_timeloop), intent(in) :: loop
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_rewind(loop%handle), "surrogate_timeloop_rollback", status)
    end subroutine

    subroutine surrogate_timeloop_save(loop, path, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: path
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_save(loop%handle, trim(path)//c_null_char), "surrogate_timeloop_save", status)
    end subroutine

    subroutine surrogate_timeloop_restore(loop, path, status)
        type(surrogate_timeloop), intent(in) :: loop
        character(len=*), intent(in) :: path
        integer(c_int), intent(out), optional :: status
        call finish(c_timeloop_restore(loop%handle, trim(path)//c_null_char), "surrogate_timeloop_restore", status)
    end subroutine

    subroutine surrogate_timeloop_destroy(loop)
        type(surrogate_timeloop), intent(inout) :: loop
        call c_timeloop_destroy(loop%handle)
    end subroutine

    subroutine loop_final(loop)
        type(surrogate_timeloop), intent(inout) :: loop
        call c_timeloop_destroy(loop%handle)
    end subroutine

    subroutine loop_finals(loop)
        type(surrogate_timeloop), intent(inout) :: loop(:)
        integer :: i
        do i = 1, size(loop)
            call c_timeloop_destroy(loop(i)%handle)
        end do
    end subroutine
end module
