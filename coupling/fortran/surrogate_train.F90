! SPDX-License-Identifier: Apache-2.0
#include "macros.inc"
! Training: one procedure for each function of surrogate_train.h, which has the contracts.
! Conventions as in module surrogate.
module surrogate_train
    use, intrinsic :: iso_c_binding
    use surrogate_fortran_base
    use surrogate_fortran_context, only: surrogate_context
    use surrogate_fortran_model, only: surrogate_model, surrogate_model_destroy
    use surrogate_fortran_plan, only: surrogate_plan
    implicit none
    private

    ! Settings.
    type, extends(surrogate_object), public :: surrogate_trainer_options
    contains
        final :: training_final, training_finals
    end type

    type, extends(surrogate_object), public :: surrogate_trainer
    contains
        final :: trainer_final, trainer_finals
    end type

    type, bind(c), public :: surrogate_step_report
        integer(c_int64_t) :: step = 0, samples = 0
        real(c_double) :: loss = 0, gradient_norm = 0, learning_rate = 0, beta1 = 0
        integer(c_int32_t) :: was_skipped = 0, reserved = 0
    end type

    integer(c_int), parameter, public :: surrogate_weights = 0, surrogate_ema = 1, surrogate_best = 2
    integer(c_int), parameter, public :: surrogate_ignored_label = -100

    interface
        function c_training_create(training) bind(c, name="surrogate_trainer_options_create") result(found)
            import
            type(c_ptr), intent(out) :: training
            integer(c_int) :: found
        end function
        function c_training_set(training, key, value) bind(c, name="surrogate_trainer_options_set") result(found)
            import
            type(c_ptr), value :: training
            character(kind=c_char), intent(in) :: key(*)
            character(kind=c_char), intent(in) :: value(*)
            integer(c_int) :: found
        end function
        function c_trainer_create(plan, data_parallel, settings, trainer) &
            bind(c, name="surrogate_trainer_create") result(found)
            import
            type(c_ptr), value :: plan
            type(c_ptr), value :: data_parallel
            type(c_ptr), value :: settings
            type(c_ptr), intent(out) :: trainer
            integer(c_int) :: found
        end function
        function c_trainer_bind_target(trainer, name, unit, array) &
            bind(c, name="surrogate_trainer_bind_target") result(found)
            import
            type(c_ptr), value :: trainer
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), value :: unit
            type(c_ptr), value :: array
            integer(c_int) :: found
        end function
        function c_trainer_bind_target_block(trainer, name, unit, block) &
            bind(c, name="surrogate_trainer_bind_target_block") result(found)
            import
            type(c_ptr), value :: trainer
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), value :: unit
            type(c_ptr), value :: block
            integer(c_int) :: found
        end function
        function c_trainer_bind_labels(trainer, labels) bind(c, name="surrogate_trainer_bind_labels") result(found)
            import
            type(c_ptr), value :: trainer
            type(c_ptr), value :: labels
            integer(c_int) :: found
        end function
        function c_trainer_set_class_weights(trainer, weights, n_weights) &
            bind(c, name="surrogate_trainer_set_class_weights") result(found)
            import
            type(c_ptr), value :: trainer
            real(c_double), intent(in) :: weights(*)
            integer(c_int64_t), value :: n_weights
            integer(c_int) :: found
        end function
        function c_trainer_bind_gradient(trainer, name, unit, array) &
            bind(c, name="surrogate_trainer_bind_gradient") result(found)
            import
            type(c_ptr), value :: trainer
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), value :: unit
            type(c_ptr), value :: array
            integer(c_int) :: found
        end function
        function c_trainer_bind_gradient_block(trainer, name, unit, block) &
            bind(c, name="surrogate_trainer_bind_gradient_block") result(found)
            import
            type(c_ptr), value :: trainer
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), value :: unit
            type(c_ptr), value :: block
            integer(c_int) :: found
        end function
        function c_trainer_forward(trainer) bind(c, name="surrogate_trainer_forward") result(found)
            import
            type(c_ptr), value :: trainer
            integer(c_int) :: found
        end function
        function c_trainer_backward(trainer, loss) bind(c, name="surrogate_trainer_backward") result(found)
            import
            type(c_ptr), value :: trainer
            real(c_double), value :: loss
            integer(c_int) :: found
        end function
        function c_trainer_add_validation_loss(trainer, loss) &
            bind(c, name="surrogate_trainer_add_validation_loss") result(found)
            import
            type(c_ptr), value :: trainer
            real(c_double), value :: loss
            integer(c_int) :: found
        end function
        function c_trainer_set_point_weights(trainer, weights) &
            bind(c, name="surrogate_trainer_set_point_weights") result(found)
            import
            type(c_ptr), value :: trainer
            type(c_ptr), value :: weights
            integer(c_int) :: found
        end function
        function c_trainer_set_scale(trainer, output, scale_) &
            bind(c, name="surrogate_trainer_set_scale") result(found)
            import
            type(c_ptr), value :: trainer
            character(kind=c_char), intent(in) :: output(*)
            real(c_double), value :: scale_
            integer(c_int) :: found
        end function
        function c_trainer_set_lattice(trainer, n_x, n_y) bind(c, name="surrogate_trainer_set_grid_shape") result(found)
            import
            type(c_ptr), value :: trainer
            integer(c_int64_t), value :: n_x
            integer(c_int64_t), value :: n_y
            integer(c_int) :: found
        end function
        function c_trainer_accumulate(trainer, loss) bind(c, name="surrogate_trainer_accumulate") result(found)
            import
            type(c_ptr), value :: trainer
            real(c_double), intent(out) :: loss
            integer(c_int) :: found
        end function
        function c_trainer_apply(trainer, report) bind(c, name="surrogate_trainer_apply") result(found)
            import
            type(c_ptr), value :: trainer
            type(surrogate_step_report), intent(out) :: report
            integer(c_int) :: found
        end function
        function c_trainer_step(trainer, report) bind(c, name="surrogate_trainer_step") result(found)
            import
            type(c_ptr), value :: trainer
            type(surrogate_step_report), intent(out) :: report
            integer(c_int) :: found
        end function
        function c_trainer_validate(trainer, loss, error) bind(c, name="surrogate_trainer_validate") result(found)
            import
            type(c_ptr), value :: trainer
            real(c_double), intent(out) :: loss
            type(c_ptr), value :: error
            integer(c_int) :: found
        end function
        function c_trainer_end_validation(trainer, mean_loss, is_best) &
            bind(c, name="surrogate_trainer_end_validation") result(found)
            import
            type(c_ptr), value :: trainer
            real(c_double), intent(out) :: mean_loss
            integer(c_int32_t), intent(out) :: is_best
            integer(c_int) :: found
        end function
        function c_trainer_keep(trainer, n_kept) bind(c, name="surrogate_trainer_reservoir_add") result(found)
            import
            type(c_ptr), value :: trainer
            integer(c_int64_t), intent(out) :: n_kept
            integer(c_int) :: found
        end function
        function c_trainer_step_kept(trainer, n_steps, report) &
            bind(c, name="surrogate_trainer_reservoir_step") result(found)
            import
            type(c_ptr), value :: trainer
            integer(c_int64_t), value :: n_steps
            type(surrogate_step_report), intent(out) :: report
            integer(c_int) :: found
        end function
        function c_trainer_widen_ranges(trainer, n_widened) bind(c, name="surrogate_trainer_widen_ranges") result(found)
            import
            type(c_ptr), value :: trainer
            integer(c_int32_t), intent(out) :: n_widened
            integer(c_int) :: found
        end function
        function c_trainer_save_model(trainer, which, card, path) &
            bind(c, name="surrogate_trainer_save_model") result(found)
            import
            type(c_ptr), value :: trainer
            integer(c_int32_t), value :: which
            type(c_ptr), value :: card
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int) :: found
        end function
        function c_trainer_save(trainer, note, path) bind(c, name="surrogate_trainer_save") result(found)
            import
            type(c_ptr), value :: trainer
            type(c_ptr), value :: note
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int) :: found
        end function
        function c_trainer_restore(trainer, path) bind(c, name="surrogate_trainer_restore") result(found)
            import
            type(c_ptr), value :: trainer
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int) :: found
        end function
        function c_trainer_note(trainer, text, n_text) bind(c, name="surrogate_trainer_note") result(found)
            import
            type(c_ptr), value :: trainer
            type(c_ptr), value :: text
            integer(c_int64_t), intent(inout) :: n_text
            integer(c_int) :: found
        end function
        function c_trainer_describe(trainer, text, n_text) bind(c, name="surrogate_trainer_describe") result(found)
            import
            type(c_ptr), value :: trainer
            type(c_ptr), value :: text
            integer(c_int64_t), intent(inout) :: n_text
            integer(c_int) :: found
        end function
        function c_trainer_counter(trainer, key, value) bind(c, name="surrogate_trainer_counter") result(found)
            import
            type(c_ptr), value :: trainer
            character(kind=c_char), intent(in) :: key(*)
            integer(c_int64_t), intent(out) :: value
            integer(c_int) :: found
        end function
        function c_model_initialise(context, card, seed, model) &
            bind(c, name="surrogate_model_initialize") result(found)
            import
            type(c_ptr), value :: context
            type(c_ptr), value :: card
            integer(c_int64_t), value :: seed
            type(c_ptr), intent(out) :: model
            integer(c_int) :: found
        end function
        function c_model_initialise_scaled(context, card, seed, output_scale, model) &
            bind(c, name="surrogate_model_initialize_scaled") result(found)
            import
            type(c_ptr), value :: context
            type(c_ptr), value :: card
            integer(c_int64_t), value :: seed
            real(c_double), value :: output_scale
            type(c_ptr), intent(out) :: model
            integer(c_int) :: found
        end function
        subroutine c_training_destroy(training) bind(c, name="surrogate_trainer_options_destroy")
            import
            type(c_ptr), intent(inout) :: training
        end subroutine
        subroutine c_trainer_destroy(trainer) bind(c, name="surrogate_trainer_destroy")
            import
            type(c_ptr), intent(inout) :: trainer
        end subroutine
    end interface

    public :: surrogate_trainer_options_create, surrogate_trainer_options_set, surrogate_trainer_options_destroy, &
        surrogate_trainer_create, surrogate_trainer_bind_target, surrogate_trainer_bind_target_block, &
        surrogate_trainer_bind_labels, surrogate_trainer_set_class_weights, surrogate_trainer_bind_gradient, &
        surrogate_trainer_bind_gradient_block, surrogate_trainer_forward, &
        surrogate_trainer_backward, surrogate_trainer_add_validation_loss, &
        surrogate_trainer_set_point_weights, surrogate_trainer_set_scale, surrogate_trainer_set_grid_shape, &
        surrogate_trainer_accumulate, surrogate_trainer_apply, surrogate_trainer_step, surrogate_trainer_validate, &
        surrogate_trainer_end_validation, surrogate_trainer_reservoir_add, surrogate_trainer_reservoir_step, &
        surrogate_trainer_widen_ranges, surrogate_trainer_save_model, surrogate_trainer_save, surrogate_trainer_restore, &
        surrogate_trainer_note, surrogate_trainer_describe, surrogate_trainer_counter, surrogate_trainer_destroy, &
        surrogate_model_initialize, surrogate_model_initialize_scaled

contains

    ! ---- settings ----

    subroutine surrogate_trainer_options_create(training, status)
        type(surrogate_trainer_options), intent(inout) :: training
        integer(c_int), intent(out), optional :: status
        call surrogate_trainer_options_destroy(training)
        call finish(c_training_create(training%handle), "surrogate_trainer_options_create", status)
    end subroutine

    subroutine surrogate_trainer_options_set(training, key, value, status)
        type(surrogate_trainer_options), intent(in) :: training
        character(len=*), intent(in) :: key, value
        integer(c_int), intent(out), optional :: status
        call finish(c_training_set(training%handle, trim(key)//c_null_char, trim(value)//c_null_char), &
            "surrogate_trainer_options_set", status)
    end subroutine

    subroutine surrogate_trainer_options_destroy(training)
        type(surrogate_trainer_options), intent(inout) :: training
        call c_training_destroy(training%handle)
    end subroutine

    ! ---- the trainer ----

    ! The plan must outlive the trainer. data_parallel: the context of all groups.
    subroutine surrogate_trainer_create(trainer, plan, settings, data_parallel, status)
        type(surrogate_trainer), intent(inout) :: trainer
        type(surrogate_plan), intent(in) :: plan
        type(surrogate_trainer_options), intent(in), optional :: settings
        type(surrogate_context), intent(in), optional :: data_parallel
        integer(c_int), intent(out), optional :: status
        type(c_ptr) :: all_groups, chosen
        all_groups = c_null_ptr
        chosen = c_null_ptr
        if (present(data_parallel)) all_groups = data_parallel%handle
        if (present(settings)) chosen = settings%handle
        call surrogate_trainer_destroy(trainer)
        call finish(c_trainer_create(plan%handle, all_groups, chosen, trainer%handle), "surrogate_trainer_create", status)
    end subroutine

    ! array, unit and component_dim as in surrogate_plan_bind_output.
    subroutine surrogate_trainer_bind_target(trainer, name, array, unit, component_dim, status)
        type(surrogate_trainer), intent(in) :: trainer
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(in), optional :: component_dim
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_trainer_bind_target_block, trainer%handle, name, unit, surrogate_array_of(array), &
            component_dim, c_trainer_bind_target)
        call finish(found, "surrogate_trainer_bind_target", status)
    end subroutine

    subroutine surrogate_trainer_bind_target_block(trainer, name, array, unit, status)
        type(surrogate_trainer), intent(in) :: trainer
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_trainer_bind_target_block, trainer%handle, name, unit, surrogate_array_of(array))
        call finish(found, "surrogate_trainer_bind_target_block", status)
    end subroutine

    ! labels: integer(4) or integer(8), for each of this rank's points its class, from 0 (loss=cross_entropy, focal), or
    ! the id of its particle (loss=infonce).
    subroutine surrogate_trainer_bind_labels(trainer, labels, status)
        type(surrogate_trainer), intent(in) :: trainer
        BOUND_ARRAY :: labels
        integer(c_int), intent(out), optional :: status
        type(surrogate_array) :: view
        type(c_array), target :: column
        integer(c_int) :: found
        view = surrogate_array_of(labels)
        found = c_column(view, "labels"//c_null_char, column)
        if (found == surrogate_success) found = c_trainer_bind_labels(trainer%handle, c_loc(column))
        call finish(found, "surrogate_trainer_bind_labels", status)
    end subroutine

    subroutine surrogate_trainer_set_class_weights(trainer, weights, status)
        type(surrogate_trainer), intent(in) :: trainer
        real(c_double), intent(in) :: weights(:)
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = c_trainer_set_class_weights(trainer%handle, weights, size(weights, kind=c_int64_t))
        call finish(found, "surrogate_trainer_set_class_weights", status)
    end subroutine

    ! Derivatives of the caller's own loss (loss=custom). array, unit and component_dim as in
    ! surrogate_plan_bind_output.
    subroutine surrogate_trainer_bind_gradient(trainer, name, array, unit, component_dim, status)
        type(surrogate_trainer), intent(in) :: trainer
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(in), optional :: component_dim
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_trainer_bind_gradient_block, trainer%handle, name, unit, surrogate_array_of(array), &
            component_dim, c_trainer_bind_gradient)
        call finish(found, "surrogate_trainer_bind_gradient", status)
    end subroutine

    subroutine surrogate_trainer_bind_gradient_block(trainer, name, array, unit, status)
        type(surrogate_trainer), intent(in) :: trainer
        character(len=*), intent(in) :: name
        BOUND_ARRAY :: array
        character(len=*), intent(in), optional :: unit
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        found = bind_field(c_trainer_bind_gradient_block, trainer%handle, name, unit, surrogate_array_of(array))
        call finish(found, "surrogate_trainer_bind_gradient_block", status)
    end subroutine

    subroutine surrogate_trainer_forward(trainer, status)
        type(surrogate_trainer), intent(in) :: trainer
        integer(c_int), intent(out), optional :: status
        call finish(c_trainer_forward(trainer%handle), "surrogate_trainer_forward", status)
    end subroutine

    subroutine surrogate_trainer_backward(trainer, loss, status)
        type(surrogate_trainer), intent(in) :: trainer
        real(c_double), intent(in) :: loss
        integer(c_int), intent(out), optional :: status
        call finish(c_trainer_backward(trainer%handle, loss), "surrogate_trainer_backward", status)
    end subroutine

    subroutine surrogate_trainer_add_validation_loss(trainer, loss, status)
        type(surrogate_trainer), intent(in) :: trainer
        real(c_double), intent(in) :: loss
        integer(c_int), intent(out), optional :: status
        call finish(c_trainer_add_validation_loss(trainer%handle, loss), "surrogate_trainer_add_validation_loss", status)
    end subroutine

    ! weights: real(4) or real(8), one for each of this rank's points, copied; absent: equal
    ! weights.
    subroutine surrogate_trainer_set_point_weights(trainer, weights, status)
        type(surrogate_trainer), intent(in) :: trainer
        ANY_ARRAY, intent(in), optional, target :: weights
        integer(c_int), intent(out), optional :: status
        type(surrogate_array) :: view
        type(c_array), target :: column
        integer(c_int) :: found
        if (present(weights)) then
            view = surrogate_array_of(weights)
            found = c_column(view, "weights"//c_null_char, column)
            if (found == surrogate_success) found = c_trainer_set_point_weights(trainer%handle, c_loc(column))
        else
            found = c_trainer_set_point_weights(trainer%handle, c_null_ptr)
        end if
        call finish(found, "surrogate_trainer_set_point_weights", status)
    end subroutine

    subroutine surrogate_trainer_set_scale(trainer, output, scale, status)
        type(surrogate_trainer), intent(in) :: trainer
        character(len=*), intent(in) :: output
        real(c_double), intent(in) :: scale
        integer(c_int), intent(out), optional :: status
        call finish(c_trainer_set_scale(trainer%handle, trim(output)//c_null_char, scale), "surrogate_trainer_set_scale", &
            status)
    end subroutine

    subroutine surrogate_trainer_set_grid_shape(trainer, n_x, n_y, status)
        type(surrogate_trainer), intent(in) :: trainer
        integer(c_int64_t), intent(in) :: n_x, n_y
        integer(c_int), intent(out), optional :: status
        call finish(c_trainer_set_lattice(trainer%handle, n_x, n_y), "surrogate_trainer_set_grid_shape", status)
    end subroutine

    ! ---- steps ----

    subroutine surrogate_trainer_accumulate(trainer, loss, status)
        type(surrogate_trainer), intent(in) :: trainer
        real(c_double), intent(out), optional :: loss
        integer(c_int), intent(out), optional :: status
        real(c_double) :: given
        integer(c_int) :: found
        given = 0
        found = c_trainer_accumulate(trainer%handle, given)
        if (present(loss)) loss = given
        call finish(found, "surrogate_trainer_accumulate", status)
    end subroutine

    subroutine surrogate_trainer_apply(trainer, report, status)
        type(surrogate_trainer), intent(in) :: trainer
        type(surrogate_step_report), intent(out), optional :: report
        integer(c_int), intent(out), optional :: status
        type(surrogate_step_report) :: given
        integer(c_int) :: found
        found = c_trainer_apply(trainer%handle, given)
        if (present(report)) report = given
        call finish(found, "surrogate_trainer_apply", status)
    end subroutine

    subroutine surrogate_trainer_step(trainer, report, status)
        type(surrogate_trainer), intent(in) :: trainer
        type(surrogate_step_report), intent(out), optional :: report
        integer(c_int), intent(out), optional :: status
        type(surrogate_step_report) :: given
        integer(c_int) :: found
        found = c_trainer_step(trainer%handle, given)
        if (present(report)) report = given
        call finish(found, "surrogate_trainer_step", status)
    end subroutine

    ! error: one number for each output of the card.
    subroutine surrogate_trainer_validate(trainer, loss, error, status)
        type(surrogate_trainer), intent(in) :: trainer
        real(c_double), intent(out) :: loss
        real(c_double), intent(out), optional :: error(:)
        integer(c_int), intent(out), optional :: status
        real(c_double), allocatable, target :: given(:)
        integer(c_int) :: found
        loss = 0
        if (present(error)) then
            allocate (given(max(1, size(error))))
            given = 0
            found = c_trainer_validate(trainer%handle, loss, c_loc(given(1)))
            error = given(1:size(error))
        else
            found = c_trainer_validate(trainer%handle, loss, c_null_ptr)
        end if
        call finish(found, "surrogate_trainer_validate", status)
    end subroutine

    subroutine surrogate_trainer_end_validation(trainer, mean_loss, is_best, status)
        type(surrogate_trainer), intent(in) :: trainer
        real(c_double), intent(out) :: mean_loss
        logical, intent(out), optional :: is_best
        integer(c_int), intent(out), optional :: status
        integer(c_int32_t) :: given
        integer(c_int) :: found
        mean_loss = 0
        given = 0
        found = c_trainer_end_validation(trainer%handle, mean_loss, given)
        if (present(is_best)) is_best = given /= 0
        call finish(found, "surrogate_trainer_end_validation", status)
    end subroutine

    ! ---- samples pushed by a solver ----

    subroutine surrogate_trainer_reservoir_add(trainer, n_kept, status)
        type(surrogate_trainer), intent(in) :: trainer
        integer(c_int64_t), intent(out), optional :: n_kept
        integer(c_int), intent(out), optional :: status
        integer(c_int64_t) :: given
        integer(c_int) :: found
        given = 0
        found = c_trainer_keep(trainer%handle, given)
        if (present(n_kept)) n_kept = given
        call finish(found, "surrogate_trainer_reservoir_add", status)
    end subroutine

    subroutine surrogate_trainer_reservoir_step(trainer, n_steps, report, status)
        type(surrogate_trainer), intent(in) :: trainer
        integer(c_int64_t), intent(in) :: n_steps
        type(surrogate_step_report), intent(out), optional :: report
        integer(c_int), intent(out), optional :: status
        type(surrogate_step_report) :: given
        integer(c_int) :: found
        found = c_trainer_step_kept(trainer%handle, n_steps, given)
        if (present(report)) report = given
        call finish(found, "surrogate_trainer_reservoir_step", status)
    end subroutine

    ! ---- ranges ----

    subroutine surrogate_trainer_widen_ranges(trainer, n_widened, status)
        type(surrogate_trainer), intent(in) :: trainer
        integer(c_int32_t), intent(out), optional :: n_widened
        integer(c_int), intent(out), optional :: status
        integer(c_int32_t) :: given
        integer(c_int) :: found
        given = 0
        found = c_trainer_widen_ranges(trainer%handle, given)
        if (present(n_widened)) n_widened = given
        call finish(found, "surrogate_trainer_widen_ranges", status)
    end subroutine

    ! ---- files ----

    ! which: surrogate_weights, surrogate_ema or surrogate_best. card: JSON that replaces the
    ! model's card.
    subroutine surrogate_trainer_save_model(trainer, which, path, card, status)
        type(surrogate_trainer), intent(in) :: trainer
        integer(c_int), intent(in) :: which
        character(len=*), intent(in) :: path
        character(len=*), intent(in), optional :: card
        integer(c_int), intent(out), optional :: status
        character(kind=c_char), allocatable, target :: letters(:)
        type(c_ptr) :: address
        address = optional_text(card, letters)
        call finish(c_trainer_save_model(trainer%handle, int(which, c_int32_t), address, trim(path)//c_null_char), &
            "surrogate_trainer_save_model", status)
    end subroutine

    subroutine surrogate_trainer_save(trainer, path, note, status)
        type(surrogate_trainer), intent(in) :: trainer
        character(len=*), intent(in) :: path
        character(len=*), intent(in), optional :: note
        integer(c_int), intent(out), optional :: status
        character(kind=c_char), allocatable, target :: letters(:)
        type(c_ptr) :: address
        address = optional_text(note, letters)
        call finish(c_trainer_save(trainer%handle, address, trim(path)//c_null_char), "surrogate_trainer_save", status)
    end subroutine

    subroutine surrogate_trainer_restore(trainer, path, status)
        type(surrogate_trainer), intent(in) :: trainer
        character(len=*), intent(in) :: path
        integer(c_int), intent(out), optional :: status
        call finish(c_trainer_restore(trainer%handle, trim(path)//c_null_char), "surrogate_trainer_restore", status)
    end subroutine

    subroutine surrogate_trainer_note(trainer, text, status)
        type(surrogate_trainer), intent(in) :: trainer
        character(len=:), allocatable, intent(out) :: text
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        call read_text(c_trainer_note, trainer%handle, text, found)
        call finish(found, "surrogate_trainer_note", status)
    end subroutine

    subroutine surrogate_trainer_describe(trainer, text, status)
        type(surrogate_trainer), intent(in) :: trainer
        character(len=:), allocatable, intent(out) :: text
        integer(c_int), intent(out), optional :: status
        integer(c_int) :: found
        call read_text(c_trainer_describe, trainer%handle, text, found)
        call finish(found, "surrogate_trainer_describe", status)
    end subroutine

    subroutine surrogate_trainer_counter(trainer, key, value, status)
        type(surrogate_trainer), intent(in) :: trainer
        character(len=*), intent(in) :: key
        integer(c_int64_t), intent(out) :: value
        integer(c_int), intent(out), optional :: status
        call finish(c_trainer_counter(trainer%handle, trim(key)//c_null_char, value), "surrogate_trainer_counter", status)
    end subroutine

    subroutine surrogate_trainer_destroy(trainer)
        type(surrogate_trainer), intent(inout) :: trainer
        call c_trainer_destroy(trainer%handle)
    end subroutine

    ! card: used on rank 0, which draws the weights; other ranks may omit it.
    subroutine surrogate_model_initialize(model, context, seed, card, status)
        type(surrogate_model), intent(inout) :: model
        type(surrogate_context), intent(in) :: context
        integer(c_int64_t), intent(in) :: seed
        character(len=*), intent(in), optional :: card
        integer(c_int), intent(out), optional :: status
        character(kind=c_char), allocatable, target :: letters(:)
        type(c_ptr) :: address
        call surrogate_model_destroy(model)
        address = optional_text(card, letters)
        call finish(c_model_initialise(context%handle, address, seed, model%handle), "surrogate_model_initialize", status)
    end subroutine

    ! card: used on rank 0, which draws the weights; other ranks may omit it.
    subroutine surrogate_model_initialize_scaled(model, context, seed, output_scale, card, status)
        type(surrogate_model), intent(inout) :: model
        type(surrogate_context), intent(in) :: context
        integer(c_int64_t), intent(in) :: seed
        real(c_double), intent(in) :: output_scale
        character(len=*), intent(in), optional :: card
        integer(c_int), intent(out), optional :: status
        character(kind=c_char), allocatable, target :: letters(:)
        type(c_ptr) :: address
        call surrogate_model_destroy(model)
        address = optional_text(card, letters)
        call finish(c_model_initialise_scaled(context%handle, address, seed, output_scale, model%handle), &
            "surrogate_model_initialize_scaled", status)
    end subroutine

    ! ---- finalizers ----

    subroutine training_final(training)
        type(surrogate_trainer_options), intent(inout) :: training
        call c_training_destroy(training%handle)
    end subroutine

    subroutine training_finals(training)
        type(surrogate_trainer_options), intent(inout) :: training(:)
        integer :: i
        do i = 1, size(training)
            call c_training_destroy(training(i)%handle)
        end do
    end subroutine

    subroutine trainer_final(trainer)
        type(surrogate_trainer), intent(inout) :: trainer
        call c_trainer_destroy(trainer%handle)
    end subroutine

    subroutine trainer_finals(trainer)
        type(surrogate_trainer), intent(inout) :: trainer(:)
        integer :: i
        do i = 1, size(trainer)
            call c_trainer_destroy(trainer(i)%handle)
        end do
    end subroutine
end module
