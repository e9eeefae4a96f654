! SPDX-License-Identifier: Apache-2.0
! Training from Fortran: settings, steps, validation, a reservoir, files. What is learnt is tested in tests/libsurrogate/train.
!   train_test <model> <folder>
program train_test
    use, intrinsic :: iso_c_binding
    use surrogate
    use surrogate_train
    use checks
    implicit none
    integer, parameter :: dp = c_double, n_x = 5, n_y = 4
    type(surrogate_plan) :: plan
    type(surrogate_trainer_options) :: training
    type(surrogate_trainer) :: trainer
    type(surrogate_context) :: context
    type(surrogate_model) :: fresh, model
    type(surrogate_field_info) :: field
    type(surrogate_step_report) :: report
    real(dp), target :: x(2, n_x, n_y), a(0:n_x + 1, 0:n_y + 1), p(n_x, n_y), solved(0:n_x + 1, 0:n_y + 1)
    real(dp), target :: derivative(0:n_x + 1, 0:n_y + 1)
    integer, target :: classes(n_x, n_y)
    real(dp) :: first, later, error(1), mean_loss
    integer(c_int64_t) :: n_kept, value
    integer(c_int32_t) :: n_widened
    integer(c_int) :: status
    logical :: is_best
    character(len=:), allocatable :: text
    character(len=1024) :: path, folder
    integer :: i, j

    call get_command_argument(1, path)
    call get_command_argument(2, folder)
    do j = 1, n_y
        do i = 1, n_x
            x(:, i, j) = [(i - 0.5_dp) / n_x, (j - 0.5_dp) / n_y]
        end do
    end do
    a = 5
    solved = 2e-3_dp
    call surrogate_plan_open(plan, path, x, options="threads=1 gradients=true")
    call surrogate_plan_bind_input(plan, "mobility", a(1:n_x, 1:n_y), "m^2/(Pa s)")
    call surrogate_plan_bind_output(plan, "pressure", p, "Pa")
    call surrogate_trainer_options_create(training)
    call surrogate_trainer_options_set(training, "learning_rate", "1e-4")
    call surrogate_trainer_options_set(training, "reservoir", "3")
    call surrogate_trainer_options_set(training, "learning_rat", "1", status)
    call check_status(status, surrogate_unknown_name, "learning_rate")
    call surrogate_trainer_create(trainer, plan, training)
    call surrogate_trainer_bind_target(trainer, "pressure", solved(1:n_x, 1:n_y), "Pa")
    call surrogate_trainer_set_point_weights(trainer, [(1.0, i = 1, n_x * n_y)])

    call surrogate_trainer_validate(trainer, first, error)
    call check(first > 0 .and. error(1) == first, "the loss of one output is its error")
    call surrogate_trainer_end_validation(trainer, mean_loss, is_best)
    call check(mean_loss == first .and. is_best, "the first validation is the best")
    call surrogate_trainer_accumulate(trainer, later)
    call check(later == first, "the loss of a sample")
    call check(any(p /= 0), "the prediction")
    call surrogate_trainer_apply(trainer, report)
    call check(report%step == 1 .and. report%samples == 1 .and. report%loss == first .and. report%gradient_norm > 0 &
        .and. report%learning_rate == 1e-4_dp .and. report%was_skipped == 0, "the report of a step")
    do i = 1, 20
        call surrogate_trainer_step(trainer, report)
    end do
    call surrogate_trainer_validate(trainer, later)
    call check(later < first, "steps lower the loss")

    call surrogate_trainer_reservoir_add(trainer, n_kept)
    call check(n_kept == 1, "a kept sample")
    call surrogate_trainer_reservoir_step(trainer, 2_c_int64_t, report)
    call check(report%step == 23, "steps on kept samples")
    call surrogate_trainer_counter(trainer, "steps", value)
    call check(value == 23, "a counter")
    call surrogate_trainer_describe(trainer, text)
    call check(index(text, "parameters") > 0, "the table")

    call surrogate_trainer_widen_ranges(trainer, n_widened)
    call check(n_widened == 0, "what was learnt lies inside of the ranges")
    a(1, 1) = 13
    call surrogate_trainer_step(trainer)
    call surrogate_trainer_widen_ranges(trainer, n_widened, status)
    call check(status == surrogate_success .and. n_widened == 1, "the range of the mobility has grown")
    call surrogate_plan_model(plan, model)
    call surrogate_model_input(model, 2_c_int32_t, field)
    call check(field%max == 13, "the range on the card")

    call surrogate_trainer_save(trainer, trim(folder)//"/fortran_train.safetensors", note="after 24")
    call surrogate_trainer_step(trainer)
    call surrogate_trainer_restore(trainer, trim(folder)//"/fortran_train.safetensors")
    call surrogate_trainer_note(trainer, text)
    call check(text == "after 24", "the note of a checkpoint: "//text)
    call surrogate_trainer_counter(trainer, "steps", value)
    call check(value == 24, "steps of a checkpoint")
    call surrogate_trainer_save_model(trainer, surrogate_best, trim(folder)//"/fortran_best.safetensors")
    call surrogate_trainer_save_model(trainer, surrogate_weights, trim(folder)//"/none/model.safetensors", status=status)
    call check_status(status, surrogate_io, "model.safetensors")
    call surrogate_trainer_bind_target(trainer, "pressure", solved(1:n_x, 1:2), status=status)
    call check(status == surrogate_shape, "a target of another size")
    call surrogate_trainer_set_grid_shape(trainer, 3_c_int64_t, 3_c_int64_t, status)
    call check(status == surrogate_shape, "a lattice of another size")
    call surrogate_trainer_set_scale(trainer, "presure", 1.0_dp, status)
    call check_status(status, surrogate_unknown_name, "pressure")

    ! A loss of the program's own: the mean of the squared errors in Pa^2.
    call surrogate_trainer_destroy(trainer)
    call surrogate_trainer_options_destroy(training)
    call surrogate_trainer_options_create(training)
    call surrogate_trainer_options_set(training, "loss", "custom")
    call surrogate_trainer_options_set(training, "learning_rate", "1e-4")
    call surrogate_trainer_create(trainer, plan, training)
    call surrogate_trainer_bind_gradient(trainer, "pressure", derivative(1:n_x, 1:n_y), "Pa")
    call surrogate_trainer_step(trainer, status=status)
    call check_status(status, surrogate_invalid_argument, "loss=custom")
    do i = 1, 20
        call surrogate_trainer_forward(trainer)
        later = sum((p - solved(1:n_x, 1:n_y))**2) / size(p)
        derivative(1:n_x, 1:n_y) = 2 * (p - solved(1:n_x, 1:n_y)) / size(p)
        if (i == 1) first = later
        call surrogate_trainer_backward(trainer, later)
        call surrogate_trainer_apply(trainer, report)
        call check(report%loss == later .and. report%gradient_norm > 0, "the report of a step with the program's loss")
    end do
    call check(later < first, "steps lower the program's loss")
    call surrogate_trainer_add_validation_loss(trainer, later)
    call surrogate_trainer_end_validation(trainer, mean_loss, is_best)
    call check(mean_loss == later .and. is_best, "a validation with the program's loss")
    call surrogate_trainer_bind_gradient_block(trainer, "pressure", derivative(1:n_x, 1:2), status=status)
    call check(status == surrogate_shape, "derivatives of another size")

    classes = 1
    call surrogate_trainer_bind_labels(trainer, classes, status)
    call check_status(status, surrogate_invalid_argument, "expected 'cross_entropy'")
    call surrogate_trainer_set_class_weights(trainer, [1.0_dp, 2.0_dp], status)
    call check_status(status, surrogate_invalid_argument, "class weights")
    ! The output is a pressure, not a logit.
    call surrogate_trainer_destroy(trainer)
    call surrogate_trainer_options_set(training, "loss", "cross_entropy")
    call surrogate_trainer_create(trainer, plan, training, status=status)
    call check_status(status, surrogate_invalid_argument, "expected 0 and 1")

    call surrogate_context_create(context, options="threads=1")
    call surrogate_model_initialize(fresh, context, 1_c_int64_t, '{"format": 1, "family": "flare", "network": {"in_dim": 3, &
        &"out_dim": 1, "channel_dim": 8, "num_blocks": 1, "num_heads": 2, "num_latents": 4}}')
    call surrogate_model_initialize_scaled(fresh, context, 1_c_int64_t, 0.05_dp, '{"format": 1, "family": "flare", "network": &
        &{"in_dim": 3, "out_dim": 1, "channel_dim": 8, "num_blocks": 1, "num_heads": 2, "num_latents": 4}}')
    call surrogate_model_initialize_scaled(fresh, context, 1_c_int64_t, 0.0_dp, '{"format": 1, "family": "flare", "network": &
        &{"in_dim": 3, "out_dim": 1, "channel_dim": 8, "num_blocks": 1, "num_heads": 2, "num_latents": 4}}', status)
    call check_status(status, surrogate_invalid_argument, "above 0")
    call surrogate_model_initialize(fresh, context, 1_c_int64_t, "no card", status)
    call check(status == surrogate_bad_file, "a text that is no card")
    call done()
end program
