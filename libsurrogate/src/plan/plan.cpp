// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/plan/plan.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "libsurrogate/src/plan/same_plan.hpp"

namespace surrogate::impl {

Plan::Plan(std::shared_ptr<const Model> model, std::shared_ptr<Domain> input,
           std::shared_ptr<Domain> output, const Options& options)
    : model_(std::move(model)), input_(std::move(input)), output_(std::move(output)) {
    Communicator& comm = context().comm();
    comm.agree([&] {
        if (&model_->context() != &input_->context() || &model_->context() != &output_->context()) {
            throw Error(Status::invalid_argument,
                        "model and domain belong to different contexts; create both from the same "
                        "surrogate_context");
        }
        options_ = options.over(context().options());
        queue_ = context().make_queue(options_);
        set_states();
        set_fields();
        set_slots();
        set_derivatives();
    });
    require_same_plan(options_, *model_, *input_, *output_);
    agrees_ = options_.get("agree") == "true";
    stops_at_range_ = options_.get("range") == "error";
    warns_ = options_.get("range") == "warn";
    coordinates_ = Coordinates(*input_, fields_);
    if (wants_device(options_)) device_ = &context().open_device(options_);
    add_execution();
    followed_ = revisions();
    comm.agree([&] {
        options_.set("threads", std::to_string(queue_.n_thread()));
        options_.set("vector", name(queue_.level()));
        options_.set("backend", device_ ? "cuda" : name(queue_.backend()));
        if (device_) {
            options_.set("device", std::to_string(device_->device().properties().index));
        }
        if (comm.rank() != 0 || !context().has_log()) return;
        if (!options_.old_names().empty()) context().log(options_.old_names() + "\n");
        context().log(describe());
    });
}

/// A rank whose arguments do not pass `check`, or that lacks the memory to say so, still takes part
/// in the exchanges.
template <class Check>
void Plan::execute(const Check& check, std::span<const Column> inputs,
                   std::span<const Column> outputs) {
    std::exception_ptr problem;
    try {
        check();
    } catch (...) {
        problem = std::current_exception();
    }
    if (problem) {
        evaluate({}, {}, problem);
    } else {
        evaluate(inputs, outputs, problem);
    }
}

/// Runs `work`, which must take part in all exchanges even if it fails. If the option is set,
/// compares the numbers per cloud before, and agrees on errors afterwards.
template <class Work>
void Plan::agreed(const Work& work) {
    if (agrees_) {
        compare_numbers();
        context().comm().agree(work);
    } else {
        work();
    }
}

void Plan::run() {
    follow_if_behind();
    by_port_ = false;
    const auto check = [&] {
        require_bound();
        if (agrees_) require_same_numbers();
        execution_->require_usable(outputs_);
    };
    agreed([&] { execute(check, inputs_, outputs_); });
}

void Plan::run_failed(Status status, const char* text) {
    follow_if_behind();
    by_port_ = false;
    agreed([&] { execute([&] { throw Error(status, text); }, {}, {}); });
}

void Plan::run_network(std::span<const surrogate_named_array> inputs,
                       std::span<const surrogate_named_array> outputs) {
    follow_if_behind();
    by_port_ = true;
    const auto check = [&] {
        const bool is_nothing_asked = positions_.size() == port_inputs_.size();
        if ((!inputs.data() && !is_nothing_asked) || !outputs.data())
            throw Error(Status::invalid_argument, "the list of network inputs or outputs is NULL");
        set_port_columns(inputs, true);
        set_port_columns(outputs, false);
        execution_->require_usable(port_outputs_);
    };
    agreed([&] { execute(check, port_inputs_, port_outputs_); });
}

void Plan::evaluate(std::span<const Column> inputs, std::span<const Column> outputs,
                    std::exception_ptr problem) {
    Communicator& comm = context().comm();
    std::optional<Execution::Late> late;
    try {
        if (!problem) late = execution_->collect(false);
    } catch (...) {
        problem = std::current_exception();
    }
    comm.reset_counters();
    const Execution::Traffic before = traffic();
    if (GradientProgram* const program = execution_->gradients()) program->set_dropout({});
    const int64_t run = n_run_++;
    was_by_port_[static_cast<size_t>(run % Execution::max_pending)] = by_port_;
    const Execution::Result result = run_states(run, inputs, outputs, static_cast<bool>(problem));
    if (derivatives_) {
        derivatives_->waits = !by_port_;
        derivatives_->is_good = !problem && result.is_good();
    }
    const Execution::Traffic after = traffic();
    const Execution::Traffic sent = execution_->traffic().value_or(
        Execution::Traffic{after.bytes - before.bytes, after.collectives - before.collectives});
    bytes_sent_ = sent.bytes;
    n_collective_ = sent.collectives;
    if (problem) std::rethrow_exception(problem);
    note_outside();
    const std::string which = n_state_ > 1 ? "state " + std::to_string(bad_state_) + ": " : "";
    require_good(result, by_port_, which);
    if (found_before_move_) std::rethrow_exception(std::exchange(found_before_move_, nullptr));
    if (late) require_good(*late);
    if (agrees_ && result.is_pending) wait();
    if (by_port_ || !stops_at_range_) return;
    require_ranges();
    require_in_range(result.outside_column, result.outside, which);
}

/// Values of inputs that are the same in every run.
void Plan::require_ranges() const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (inputs_[i].is_constant) require_in_range(static_cast<int>(i), outside_[i], "");
    }
}

void Plan::set_stream(kernels::Stream stream) {
    if (execution_) execution_->set_stream(stream);
    stream_ = stream;
}

void Plan::wait() {
    if (found_before_move_) std::rethrow_exception(std::exchange(found_before_move_, nullptr));
    if (!execution_) return;
    const auto late = execution_->collect(true);
    note_outside();
    if (late) require_good(*late);
}

void Plan::require_good(const Execution::Late& late) const {
    const bool by_port = was_by_port_[static_cast<size_t>(late.run % Execution::max_pending)];
    const std::string prefix = "found in run " + std::to_string(late.run + 1) + " of this plan: ";
    require_good(late.result, by_port, prefix);
    if (stops_at_range_ && !by_port)
        require_in_range(late.result.outside_column, late.result.outside, prefix);
}

/// Takes over what the last run has counted in fields, and warns of it once a field.
void Plan::note_outside() {
    const std::span<const Outside> counted =
        n_state_ > 1 ? std::span<const Outside>(state_outside_) : execution_->outside();
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (!inputs_[i].is_constant) outside_[i] = counted[i];
        if (!warns_ || outside_[i].n == 0 || is_warned_[i] || !context().has_log()) continue;
        is_warned_[i] = true;
        context().log("warning: " + outside_text(static_cast<int>(i), outside_[i]) + "\n");
    }
}

void Plan::require_in_range(int input, const Outside& outside, const std::string& prefix) const {
    if (input < 0 || outside.n == 0) return;
    throw Error(Status::out_of_range, prefix + outside_text(input, outside));
}

surrogate_range_info Plan::range(int32_t input) const {
    if (input < 0 || input >= std::ssize(fields_)) {
        throw Error(Status::invalid_argument, "input " + std::to_string(input) + " of " +
                                                  std::to_string(fields_.size()) +
                                                  " does not exist");
    }
    const FieldCard& field = fields_[static_cast<size_t>(input)];
    const Outside& outside = outside_[static_cast<size_t>(input)];
    return {field.name.c_str(), field.min, field.max, n_input_point_, outside.n, outside.worst};
}

int64_t Plan::n_outside() const {
    int64_t n = 0;
    for (const Outside& outside : outside_) n += outside.n;
    return n;
}

void Plan::require_good(const Execution::Result& result, bool by_port,
                        const std::string& prefix) const {
    const bool is_checked =
        options_.get("check_finite") != "false" || result.bad_input.required != nullptr;
    if (result.is_good() || !is_checked) return;
    if (result.bad_input.column >= 0) {
        throw Error(result.bad_input.required ? Status::invalid_argument : Status::not_finite,
                    prefix + bad_value_text(result.bad_input, true, by_port));
    }
    if (!result.is_finite) {
        throw EchoedError(
            Status::not_finite,
            prefix +
                "non-finite values from another rank or inside the network; all predictions are "
                "NaN. See the error of the failed rank, or set agree=true");
    }
    throw Error(Status::not_finite, prefix + bad_value_text(result.bad_output, false, by_port));
}

}  // namespace surrogate::impl
