// SPDX-License-Identifier: Apache-2.0
// One step: evaluations, the guards after each of them, and the outcome.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>

#include "coupling/timeloop/loop.hpp"

namespace surrogate::timeloop {

surrogate_status Loop::step(double dt_s, int32_t* outcome) {
    return step(Problem(context_), dt_s, outcome);
}

surrogate_status Loop::step_failed(surrogate_status status, const char* text) {
    if (status == SURROGATE_SUCCESS) {
        status = SURROGATE_INVALID_ARGUMENT;
        text = "surrogate_timeloop_step_with_error was called with SURROGATE_SUCCESS";
    }
    Problem problem(context_);
    problem.keep(status, text && *text ? text : "no reason was given");
    int32_t outcome = 0;
    return step(problem, 1, &outcome);
}

surrogate_status Loop::step(Problem problem, double dt_s, int32_t* outcome) {
    int64_t n_evaluation = 1;
    problem.attempt([&] {
        n_evaluation = n_evaluation_of(settings_, dt_s);
        input_points_->refresh();
        output_points_->refresh();
        fields_->require_bound(input_points_->n_point(), output_points_->n_point(),
                               input_points_->n_cloud());
        rails_->drift().require_weights();
    });
    rails_->begin_step();
    is_skipped_ = n_skip_ > 0;
    if (is_skipped_) {
        const surrogate_status status = problem.agree();
        if (status != SURROGATE_SUCCESS) return status;
        --n_skip_;
        ++counters_.skipped;
        return leave_to_solver(dt_s, outcome);
    }
    surrogate_status status = take_integrals(problem);
    Policy worst = Policy::off;
    for (int64_t i = 1; status == SURROGATE_SUCCESS && i <= n_evaluation; ++i) {
        Policy action = Policy::off;
        rails_->drift().set_progress(static_cast<double>(i) / static_cast<double>(n_evaluation));
        status = evaluate(i > 1, dt_s, &problem, &action);
        worst = std::max(worst, action);
        if (action >= Policy::fallback) break;
        rails_->drift().correct();
    }
    if (status != SURROGATE_SUCCESS) return status;
    asks_inputs_first_ = rails_->rejects_inputs();
    if (worst == Policy::stop) {
        ++counters_.stopped;
        *outcome = SURROGATE_STEP_STOPPED;
    } else if (worst == Policy::fallback) {
        status = leave_to_solver(dt_s, outcome);
        if (status == SURROGATE_SUCCESS) n_skip_ = settings_.retry_after;
    } else {
        fields_->write();
        rails_->drift().accept();
        time_goes_on(dt_s);
        const bool is_corrected = worst == Policy::correct;
        ++(is_corrected ? counters_.corrected : counters_.accepted);
        *outcome = is_corrected ? SURROGATE_STEP_CORRECTED : SURROGATE_STEP_ACCEPTED;
    }
    return status;
}

/// Initializes integrals that have no value yet, before the first evaluation.
surrogate_status Loop::take_integrals(const Problem& problem) {
    DriftGuard& drift = rails_->drift();
    if (!drift.needs_values()) return SURROGATE_SUCCESS;
    const int64_t n = 1 + drift.n_value();
    std::fill_n(sums_.begin(), n, 0.0);
    if (problem.is_there())
        sums_[0] = 1;
    else
        drift.write_values(sums_.data() + 1);
    const surrogate_status status =
        surrogate_context_reduce(context_, SURROGATE_SUM, n, sums_.data());
    if (status != SURROGATE_SUCCESS) return status;
    if (sums_[0] > 0) return problem.agree();
    drift.take_values(sums_.data() + 1);
    return SURROGATE_SUCCESS;
}

/// Runs the plan. A rank with a problem only takes part in the exchanges.
surrogate_status Loop::run_plan(const Problem& problem) {
    ++counters_.evaluations;
    if (problem.is_there())
        return surrogate_plan_run_with_error(plan_, problem.status(), problem.text());
    return surrogate_plan_run(plan_);
}

surrogate_status Loop::evaluate(bool is_again, double dt_s, Problem* problem, Policy* action) {
    problem->attempt([&] {
        rails_->look_at_inputs(is_again);
        for (const Field& field : fields_->inputs()) field.to_plan();
    });
    // If the last inputs were rejected, the inputs are checked first. A series of rejected steps
    // then costs one reduction per step, and only the first of them runs the plan.
    if (asks_inputs_first_ && !is_again) {
        const surrogate_status status =
            sum_and_judge(dt_s, SURROGATE_SUCCESS, *problem, true, action);
        if (status != SURROGATE_SUCCESS || *action >= Policy::fallback) return status;
    }
    const surrogate_status status = run_plan(*problem);
    if (status != SURROGATE_NOT_FINITE) problem->keep(status);
    if (!problem->is_there()) {
        // After a failed run the columns may still hold earlier predictions.
        const bool is_lost = status == SURROGATE_NOT_FINITE || rails_->finite().has_bad_input();
        for (Field& field : fields_->outputs()) {
            field.from_plan();
            if (is_lost) std::ranges::fill(field.work, std::numeric_limits<double>::quiet_NaN());
        }
        rails_->look_at_outputs();
    }
    return sum_and_judge(dt_s, status, *problem, false, action);
}

surrogate_status Loop::sum_and_judge(double dt_s, surrogate_status run_status,
                                     const Problem& problem, bool only_inputs, Policy* action) {
    double* const sums = sums_.data();
    sums[0] = problem.is_there() ? 1 : 0;
    write_fingerprint(*rails_, *fields_, settings_, dt_s, n_skip_, sums + 1);
    rails_->write_sums(sums + 1 + n_fingerprint);
    const int64_t n = 1 + n_fingerprint + rails_->n_sum();
    surrogate_status status = surrogate_context_reduce(context_, SURROGATE_SUM, n, sums);
    if (status != SURROGATE_SUCCESS) return status;
    if (sums[0] > 0) {
        // With agree=true the run has already returned the status to all ranks.
        const bool is_run_at_fault =
            run_status != SURROGATE_SUCCESS && run_status != SURROGATE_NOT_FINITE;
        return agrees_ && is_run_at_fault ? run_status : problem.agree();
    }
    if (!is_same_on_all(sums + 1, n_rank_))
        return surrogate_context_fail(context_, SURROGATE_INVALID_ARGUMENT,
                                      "time step, options of the time loop or numbers per cloud "
                                      "differ between ranks; pass the same values on all ranks");
    *action = rails_->judge(sums + 1 + n_fingerprint, only_inputs);
    return *action == Policy::off ? SURROGATE_SUCCESS : complete();
}

/// Reduces the worst values. They are needed only for the report of a guard that triggered.
surrogate_status Loop::complete() {
    rails_->write_worst(worst_.data());
    const surrogate_status status = surrogate_context_reduce(
        context_, SURROGATE_MAX, static_cast<int64_t>(worst_.size()), worst_.data());
    if (status != SURROGATE_SUCCESS) return status;
    rails_->complete(worst_.data());
    rails_->record([this](const Rails::Rail& rail) { log_rail(rail); });
    return SURROGATE_SUCCESS;
}

surrogate_status Loop::leave_to_solver(double dt_s, int32_t* outcome) {
    if (!fallback_) {
        ++counters_.rejected;
        *outcome = SURROGATE_STEP_REJECTED;
        return SURROGATE_SUCCESS;
    }
    surrogate_status own = SURROGATE_CALLBACK;
    try {
        own = fallback_(fallback_user_, time_s_, dt_s);
    } catch (const std::exception& error) {  // an exception counts as a failure of the function
        surrogate_context_fail(nullptr, own, error.what());
    } catch (...) {
        surrogate_context_fail(
            nullptr, own,
            "the fallback function threw an exception of another type than std::exception");
    }
    // CALLBACK has a text on this thread; other statuses may have none.
    char text[1024];
    std::snprintf(text, sizeof text,
                  "the fallback function returned %s for the step of %g s from %.10g s%s%s",
                  surrogate_status_name(own), dt_s, time_s_, own == SURROGATE_CALLBACK ? ": " : "",
                  own == SURROGATE_CALLBACK ? surrogate_error(nullptr) : "");
    const surrogate_status status =
        surrogate_context_agree(context_, own, own == SURROGATE_SUCCESS ? nullptr : text);
    if (status != SURROGATE_SUCCESS) return status;
    time_goes_on(dt_s);
    rails_->drift().forget();
    ++counters_.fallback;
    *outcome = SURROGATE_STEP_FALLBACK;
    return SURROGATE_SUCCESS;
}

}  // namespace surrogate::timeloop
