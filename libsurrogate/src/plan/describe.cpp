// SPDX-License-Identifier: Apache-2.0
// Texts of a plan about itself, and about invalid values.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/plan/plan.hpp"

namespace surrogate::impl {

std::string Plan::bad_value_text(const BadValue& bad, bool is_input, bool by_port) const {
    int column = bad.column;
    std::string where = std::string(is_input ? "input '" : "output '");
    std::string place;
    if (!by_port) {
        const Slot& slot = slots(is_input)[static_cast<size_t>(column)];
        place = is_input ? input_row_text(static_cast<size_t>(column), bad.point)
                         : row_text(slot.place, bad.point);
        where += slot.name + "'";
    } else {
        auto port = (is_input ? input_ports_ : output_ports_).begin();
        for (; column >= port->port.n_channel; ++port)
            column -= static_cast<int>(port->port.n_channel);
        place = row_text(port->port.place, bad.point);
        where = port->text + ", channel " + std::to_string(column) + ",";
    }
    char value[40] = "bad";
    if (bad.is_value_known) std::snprintf(value, sizeof value, "%g", bad.value);
    if (bad.required)
        return where + " is " + value + " at " + place + "; it must be " + bad.required;
    return where + " is " + value + " at " + place + ", not a finite number in " +
           (is_input ? "single precision" : "the type of its array");
}

std::string Plan::outside_text(int input, const Outside& outside) const {
    const FieldCard& field = fields_[static_cast<size_t>(input)];
    Communicator& comm = context().comm();
    const std::string points = std::to_string(n_input_point_) + " points" +
                               (comm.size() > 1 ? " of rank " + std::to_string(comm.rank()) : "");
    return "input '" + field.name + "' lies outside the range of the training data, " +
           range_text(field.min, field.max) + (field.unit.empty() ? "" : " " + field.unit) +
           ", at " + std::to_string(outside.n) + " of " + points + ", farthest " +
           number_text(outside.worst) + cloud_outside_text(static_cast<size_t>(input));
}

const std::string& Plan::option(const char* key) const {
    if (!key) throw Error(Status::invalid_argument, "option key is NULL");
    return options_.get(key);
}

namespace {

LayerCost total_of(const std::vector<LayerCost>& layers) {
    LayerCost total{.name = "total of this rank"};
    for (const LayerCost& layer : layers) {
        total.flops += layer.flops;
        total.exponentials += layer.exponentials;
        total.bytes_sent += layer.bytes_sent;
        total.collectives += layer.collectives;
        total.messages += layer.messages;
    }
    return total;
}

}  // namespace

int64_t Plan::counter(const char* key) const {
    if (!key) throw Error(Status::invalid_argument, "counter key is NULL");
    const bool counts_work =
        execution_ && (key == std::string_view("flops") || key == std::string_view("exponentials"));
    const LayerCost state = counts_work ? total_of(execution_->costs()) : LayerCost();
    const int64_t n_byte = (execution_ ? execution_->workspace_bytes() : 0) +
                           (derivatives_ ? derivatives_->bytes() + tangents_->bytes() : 0);
    const std::pair<std::string, int64_t> counters[] = {
        {"bytes_sent", bytes_sent_},
        {"collectives", n_collective_},
        {"runs", n_run_},
        {"workspace_bytes", n_byte},
        {"points_local", execution_ ? execution_->n_point() : 0},
        {"nodes", execution_ ? execution_->n_node() : 0},
        {"flops", n_state_ * std::llround(state.flops)},
        {"exponentials", n_state_ * std::llround(state.exponentials)},
        {"outside_range", n_outside()},
    };
    std::vector<std::string> names;
    for (const auto& [name, value] : counters) {
        if (name == key) return value;
        names.push_back(name);
    }
    throw Error(Status::unknown_name, no_such_text("counter", key, names));
}

namespace {

std::string line(const LayerCost& cost) {
    char text[160];
    std::snprintf(text, sizeof text, "%-26s %9.3g %8.3g %10lld %12lld %9lld\n", cost.name.c_str(),
                  cost.flops / 1e6, cost.exponentials / 1e6,
                  static_cast<long long>(cost.bytes_sent), static_cast<long long>(cost.collectives),
                  static_cast<long long>(cost.messages));
    return text;
}

}  // namespace

std::string Plan::ranges_text() const {
    std::string text, without;
    for (const std::string& line : coordinates_.lines(fields_)) text += line + "\n";
    for (const FieldCard& field : fields_) {
        if (!field.is_coordinate && std::isinf(field.min) && std::isinf(field.max))
            without += (without.empty() ? "" : ", ") + field.name;
    }
    if (without.empty()) return text;
    return text + "the card has no range for " + without + ": values outside cannot be counted\n";
}

std::string Plan::describe() const {
    if (!execution_) {
        return model_->card().family +
               ": the plan could not follow its points when they moved; the next run tries again\n";
    }
    std::string text = model_->card().family + " on " + std::to_string(output_->n_global()) +
                       " points, " + std::to_string(execution_->n_point()) +
                       " of them computed by this rank\n";
    for (const char* key : {"backend", "vector", "threads", "precision", "reproducible",
                            "check_finite", "agree", "range"}) {
        text += std::string(key) + "=" + options_.get(key) + " ";
    }
    if (options_.get("coordinates") != "physical") text += "coordinates=normalized ";
    text += "transport=" + std::string(context().comm().transport()) + "\n";
    if (device_) {
        text += "device " + device_->device_text() + "\n";
        text += "reductions by " + device_->transport_text() + "\n";
    }
    text += ranges_text();
    text += "workspace " + std::to_string(execution_->workspace_bytes()) + " bytes\n\n";
    text += "layer                          Mflop     Mexp      bytes  collectives  messages\n";
    const std::vector<LayerCost> layers = execution_->costs();
    for (const LayerCost& cost : layers) text += line(cost);
    text += line(total_of(layers));
    for (const std::string& note : execution_->notes()) text += note + "\n";
    if (n_state_ > 1)
        text += "a run evaluates " + std::to_string(n_state_) + " states; the table is for one\n";
    return text;
}

}  // namespace surrogate::impl
