// SPDX-License-Identifier: Apache-2.0
// Functions of a plan for trainers: runs on the trainer's own columns, and the backward pass.
#include <algorithm>

#include "libsurrogate/src/plan/plan.hpp"

namespace surrogate::impl {

void Plan::require_trainable() const {
    if (options_.get("gradients") == "false" || derivatives_) {
        throw Error(Status::invalid_argument,
                    "the plan was made without option gradients=true (or recompute), and cannot go "
                    "back");
    }
    if (output_slots_.empty() || (input_slots_.empty() && !input_ports_.empty())) {
        throw Error(Status::invalid_argument,
                    "the model's card names no input or output fields; targets are bound by name");
    }
    for (const Slot& slot : output_slots_) {
        if (slot.place != PortPlace::nodes) continue;
        throw Error(Status::not_supported,
                    "output '" + slot.name +
                        "' has a row for each node that the network makes of the points, expected "
                        "rows of points or clouds for a loss");
    }
}

void Plan::require_inputs() const {
    for (const Slot& slot : input_slots_) require_bound(slot, true);
}

/// As it lies in memory, in the unit of the field.
Column Plan::bound_output(size_t output) const {
    if (!output_slots_[output].is_bound) return {};
    require_bound(output_slots_[output], false);
    Column column = outputs_[output];
    column.mean = 0;
    column.std = 1;
    return column;
}

Execution::Result Plan::forward(std::span<const Column> inputs, std::span<const Column> outputs,
                                std::optional<DropoutDraw> draw, std::exception_ptr& problem) {
    by_port_ = false;
    execution_->gradients()->set_dropout(draw);
    const Execution::Traffic before = traffic();
    const bool is_poisoned = static_cast<bool>(problem);
    Execution::Result result;
    try {
        result = execution_->run(n_run_++, is_poisoned ? std::span<const Column>() : inputs,
                                 is_poisoned ? std::span<const Column>() : outputs, is_poisoned);
    } catch (...) {  // of this rank's device, once all exchanges were over
        if (!device_) throw;
        if (!problem) problem = std::current_exception();
    }
    const Execution::Traffic after = traffic();
    bytes_sent_ = after.bytes - before.bytes;
    n_collective_ = after.collectives - before.collectives;
    if (problem) return result;
    try {
        note_outside();
        if (result.bad_input.column >= 0)
            throw Error(result.bad_input.required ? Status::invalid_argument : Status::not_finite,
                        bad_value_text(result.bad_input, true, false));
        if (stops_at_range_) {
            require_ranges();
            require_in_range(result.outside_column, result.outside, "");
        }
    } catch (...) {
        problem = std::current_exception();
    }
    return result;
}

Execution::Traffic Plan::traffic() const {
    const Communicator& comm = context().comm();
    if (!device_) return {comm.bytes_sent(), comm.n_collective()};
    const DeviceCollectives& collectives = device_->collectives();
    return {comm.bytes_sent() + collectives.bytes_sent(),
            comm.n_collective() + collectives.n_collective()};
}

std::vector<int> Plan::weight_stages() const {
    return execution_->gradients()->weight_stages();
}

bool Plan::backward(std::span<const Column> doutputs, bool alive, GradientSums& sums) {
    return execution_->gradients()->backward(doutputs, {}, alive, sums);
}

}  // namespace surrogate::impl
