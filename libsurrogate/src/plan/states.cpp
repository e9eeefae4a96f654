// SPDX-License-Identifier: Apache-2.0
// Several states on one grid of the sphere: a run evaluates one after another.
#include <algorithm>

#include "libsurrogate/src/domain/sphere_domain.hpp"
#include "libsurrogate/src/plan/plan.hpp"

namespace surrogate::impl {

namespace {

/// Returns true if the points of a block lie one behind the other, row by row.
bool is_dense(const Domain& domain) {
    const auto* const sphere = dynamic_cast<const SphereDomain*>(&domain);
    if (!sphere) return false;
    const surrogate_sphere block = sphere->description();
    return block.lon_stride == 1 && block.lat_stride == block.n_lon_local;
}

}  // namespace

/// Throws not_supported unless the plan can evaluate as many states as the option says.
void Plan::set_states() {
    n_state_ = std::stoll(options_.get("states"));
    if (n_state_ == 1) return;
    const char* reason = nullptr;
    if (!dynamic_cast<const SphereDomain*>(input_.get()))
        reason = "a grid on the sphere; give scattered points clouds (surrogate_points.cloud)";
    else if (!is_dense(*input_) || !is_dense(*output_))
        reason = "domains without lat_stride and lon_stride";
    else if (wants_device(options_))
        reason = "the host; use backend 'simd' or 'auto'";
    else if (options_.get("gradients") != "false")
        reason = "plans without gradients";
    if (!reason) return;
    throw Error(Status::not_supported, "option 'states' is " + options_.get("states") +
                                           "; several states are built for " + reason);
}

/// Sets the columns of a state: its rows follow the rows of the states before it. Coordinates are
/// the same in all; so is an input of one number, which has stride 0.
void Plan::set_state(int64_t state, std::span<const Column> columns, bool is_input) {
    std::vector<Column>& of_state = is_input ? state_inputs_ : state_outputs_;
    std::ranges::copy(columns, of_state.begin());
    if (columns.empty()) return;  // of a rank whose arguments are bad
    size_t i = 0;
    for (const NamedPort& port : is_input ? input_ports_ : output_ports_) {
        for (int64_t channel = 0; channel < port.port.n_channel; ++channel, ++i) {
            Column& column = of_state[i];
            const bool is_number = is_input && !by_port_ && is_per_cloud(i);
            if (!column.data || column.is_constant) continue;
            const int64_t n_row = is_number ? 1 : domain_of(port.port.place).n_local();
            column.data = static_cast<char*>(column.data) +
                          state * n_row * column.stride * (column.is_double ? 8 : 4);
            if (is_number) column.stride = 0;
        }
    }
}

/// Runs all states, also after one has failed. Returns the result of the first that is not good, or
/// that has inputs outside their ranges.
Execution::Result Plan::run_states(int64_t run, std::span<const Column> inputs,
                                   std::span<const Column> outputs, bool poisoned) {
    if (n_state_ == 1) return execution_->run(run, inputs, outputs, poisoned);
    Execution::Result first;
    std::ranges::fill(state_outside_, Outside{});
    for (int64_t state = 0; state < n_state_; ++state) {
        set_state(state, inputs, true);
        set_state(state, outputs, false);
        const Execution::Result result =
            execution_->run(run, std::span(state_inputs_).first(inputs.size()),
                            std::span(state_outputs_).first(outputs.size()), poisoned);
        const std::span<const Outside> outside = execution_->outside();
        for (size_t i = 0; i < outside.size(); ++i) state_outside_[i].join(outside[i]);
        const bool is_worse =
            first.is_good() &&
            (!result.is_good() || (first.outside_column < 0 && result.outside_column >= 0));
        if (state > 0 && !is_worse) continue;
        first = result;
        bad_state_ = state;
    }
    return first;
}

}  // namespace surrogate::impl
