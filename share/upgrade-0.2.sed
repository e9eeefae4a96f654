# SPDX-License-Identifier: Apache-2.0
# Replaces names of libsurrogate 0.1 by names of 0.2, in sources and configurations (see upgrade-0.2.md):
#     sed -E -i -f upgrade-0.2.sed FILE..
# Made by share/upgrade/upgrade.py from share/upgrade/names-0.2.txt.
s/\bsurrogate_order_backward\b/surrogate_ordering_to_local/g
s/\bsurrogate_order_forward\b/surrogate_ordering_to_canonical/g
s/\bsurrogate_order_create\b/surrogate_ordering_create/g
s/\bsurrogate_order_destroy\b/surrogate_ordering_destroy/g
s/\bsurrogate_order_range\b/surrogate_ordering_range/g
s/\bsurrogate_order\b/surrogate_ordering/g
s/\bsurrogate_timeloop_mark\b/surrogate_timeloop_snapshot/g
s/\bsurrogate_timeloop_rewind\b/surrogate_timeloop_rollback/g
s/\bsurrogate_timeloop_feed\b/surrogate_timeloop_connect/g
s/\bsurrogate_timeloop_roll_out\b/surrogate_timeloop_rollout/g
s/\bsurrogate_timeloop_bounds\b/surrogate_timeloop_set_bounds/g
s/\bsurrogate_timeloop_step_failed\b/surrogate_timeloop_step_with_error/g
s/\bsurrogate_plan_run_failed\b/surrogate_plan_run_with_error/g
s/\bsurrogate_training_create\b/surrogate_trainer_options_create/g
s/\bsurrogate_training_destroy\b/surrogate_trainer_options_destroy/g
s/\bsurrogate_training_set\b/surrogate_trainer_options_set/g
s/\bsurrogate_training\b/surrogate_trainer_options/g
s/\bsurrogate_trainer_keep\b/surrogate_trainer_reservoir_add/g
s/\bsurrogate_trainer_step_kept\b/surrogate_trainer_reservoir_step/g
s/\bsurrogate_trainer_set_lattice\b/surrogate_trainer_set_grid_shape/g
s/\bsurrogate_model_initialise_scaled\b/surrogate_model_initialize_scaled/g
s/\bsurrogate_model_initialise\b/surrogate_model_initialize/g
s/\bsurrogate_pooled_info\b/surrogate_input_statistics/g
s/\bsurrogate_model_pooled\b/surrogate_model_input_statistics/g
s/\bsurrogate_domain_move\b/surrogate_domain_update_points/g
s/\bsurrogate_vec\b/surrogate_vec_field/g
s/\bSURROGATE_ACCEPTED\b/SURROGATE_STEP_ACCEPTED/g
s/\bsurrogate_accepted\b/surrogate_step_accepted/g
s/\bSURROGATE_CORRECTED\b/SURROGATE_STEP_CORRECTED/g
s/\bsurrogate_corrected\b/surrogate_step_corrected/g
s/\bSURROGATE_REPLACED\b/SURROGATE_STEP_FALLBACK/g
s/\bsurrogate_replaced\b/surrogate_step_fallback/g
s/\bSURROGATE_REJECTED\b/SURROGATE_STEP_REJECTED/g
s/\bsurrogate_rejected\b/surrogate_step_rejected/g
s/\bSURROGATE_STOPPED\b/SURROGATE_STEP_STOPPED/g
s/\bsurrogate_stopped\b/surrogate_step_stopped/g
s/\bSURROGATE_AVERAGE\b/SURROGATE_EMA/g
s/\bsurrogate_average\b/surrogate_ema/g
s/\bSURROGATE_AT_INPUT\b/SURROGATE_ON_INPUT/g
s/\bsurrogate_at_input\b/surrogate_on_input/g
s/\bSURROGATE_AT_OUTPUT\b/SURROGATE_ON_OUTPUT/g
s/\bsurrogate_at_output\b/surrogate_on_output/g
s/\bSURROGATE_AT_CLOUDS\b/SURROGATE_ON_CLOUDS/g
s/\bsurrogate_at_clouds\b/surrogate_on_clouds/g
s/\bSURROGATE_AT_NODES\b/SURROGATE_ON_NODES/g
s/\bsurrogate_at_nodes\b/surrogate_on_nodes/g
s/\bSURROGATE_POSITIONS\b/SURROGATE_COORDINATES/g
s/\bsurrogate_positions\b/surrogate_coordinates/g
s/\bSURROGATE_NAN_GREY\b/SURROGATE_NAN_GRAY/g
s/\bsurrogate_nan_grey\b/surrogate_nan_gray/g
s/\blat_step\b/lat_stride/g
s/\blon_step\b/lon_stride/g
s/\bsurrogate::Order\b/surrogate::Ordering/g
s/\bsurrogate::Training\b/surrogate::TrainerOptions/g
s/\bsurrogate::Which\b/surrogate::WeightSet/g
s/\bWeightSet::average\b/WeightSet::ema/g
s/\bsurrogate::Verdict\b/surrogate::StepOutcome/g
s/\bStepOutcome::replaced\b/StepOutcome::fallback/g
s/\bTrainer::Judgement\b/Trainer::ValidationSummary/g
s/\binitialised_model\b/initialized_model/g
s/(\.|->)set_lattice\(/\1set_grid_shape(/g
s/(\.|->)step_kept\(/\1reservoir_step(/g
s/(\.|->)roll_out\(/\1rollout(/g
s/(\.|->)step_failed\(/\1step_with_error(/g
s/(\.|->)run_failed\(/\1run_with_error(/g
s/(['"])mean_square(['"])/\1mse\2/g; s/^([ \t]*)mean_square([ \t]*=)/\1mse\2/
s/(['"])weighted_square(['"])/\1weighted_mse\2/g; s/^([ \t]*)weighted_square([ \t]*=)/\1weighted_mse\2/
s/(['"])gradient_share(['"])/\1gradient_weight\2/g; s/^([ \t]*)gradient_share([ \t]*=)/\1gradient_weight\2/
s/(['"])max_bad_steps(['"])/\1max_nonfinite_steps\2/g; s/^([ \t]*)max_bad_steps([ \t]*=)/\1max_nonfinite_steps\2/
s/(['"])range_share(['"])/\1range_max_fraction\2/g; s/^([ \t]*)range_share([ \t]*=)/\1range_max_fraction\2/
