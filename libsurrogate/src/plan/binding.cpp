// SPDX-License-Identifier: Apache-2.0
// The fields of a card, and the ports of a bare network, beside the arrays that a caller gives.
#include <algorithm>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/plan/plan.hpp"

namespace surrogate::impl {

void Plan::require_clouds() const {
    const int64_t n = std::max(input_->n_cloud(), output_->n_cloud());
    if (n == 1 || model_->network().domain_kind().keeps_clouds) return;
    throw Error(Status::not_supported,
                "the domain has " + std::to_string(n) + " clouds, and a network of family '" +
                    printable(model_->card().family) +
                    "' mixes all points it is given; make a domain and a plan of each cloud");
}

void Plan::set_slots() {
    const Card& card = model_->card();
    for (const FieldCard& field : card.inputs) {
        Column column{nullptr, 1, true, field.mean, field.std, false, field.is_coordinate};
        if (!field.is_coordinate) {
            column.min = field.min;
            column.max = field.max;
        }
        outside_.emplace_back();
        input_slots_.push_back({field.name, field.unit, field.is_coordinate, false});
        inputs_.push_back(column);
    }
    is_warned_.resize(inputs_.size());
    for (const FieldCard& field : card.outputs) {
        output_slots_.push_back({field.name, field.unit, false, false});
        outputs_.push_back({nullptr, 1, true, field.mean, field.std, false, false});
    }
    const std::vector<Port> inputs = model_->network().inputs();
    const std::vector<Port> outputs = model_->network().outputs();
    for (const Port& port : inputs)
        input_ports_.push_back({port, "network input '" + port.name + "'"});
    for (const Port& port : outputs)
        output_ports_.push_back({port, "network output '" + port.name + "'"});
    port_inputs_.resize(static_cast<size_t>(n_channel_of(inputs)));
    port_outputs_.resize(static_cast<size_t>(n_channel_of(outputs)));
    set_coordinates();
}

/// Where the coordinates of the domain lie now, and how many of them are outside of their ranges.
void Plan::set_coordinates() {
    n_input_point_ = input_->n_local();
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const FieldCard& field = model_->card().inputs[i];
        if (!field.is_coordinate) continue;
        const bool is_there = field.axis < input_->n_axis();
        // Points without any coordinates are fine for run_network; run() refuses them.
        if (!is_there && input_->n_axis() > 0 && input_->n_global() > 0) {
            throw Error(Status::shape, "the model's input '" + field.name + "' is coordinate " +
                                           std::to_string(field.axis) +
                                           " of the domain, whose points have " +
                                           std::to_string(input_->n_axis()) + " coordinates");
        }
        // Read only: inputs are never written through a Column.
        inputs_[i].data = is_there ? const_cast<double*>(input_->coordinate(field.axis)) : nullptr;
        input_slots_[i].is_bound = is_there || input_->n_global() == 0;
        outside_[i] = Coordinates::outside(*input_, field);
    }
}

void Plan::unbind() {
    for (Slot& slot : input_slots_) slot.is_bound = slot.is_bound && slot.from_domain;
    for (Slot& slot : output_slots_) slot.is_bound = false;
}

void Plan::require_bound() const {
    if (input_slots_.empty() || output_slots_.empty()) {
        throw Error(Status::invalid_argument,
                    "the model's card names no input or output fields; a bare network is run by "
                    "surrogate_plan_run_network");
    }
    for (const Slot& slot : input_slots_) require_bound(slot, true);
    for (const Slot& slot : output_slots_) require_bound(slot, false);
}

void Plan::require_bound(const Slot& slot, bool is_input) const {
    const int64_t n = (is_input ? input_ : output_)->n_local();
    if (slot.is_bound && (slot.from_domain || slot.n_point == n)) return;
    const std::string what = std::string(is_input ? "input" : "output") + " '" + slot.name + "'";
    if (slot.is_bound) {
        throw Error(Status::shape, what + " is bound to an array of " +
                                       std::to_string(slot.n_point) +
                                       " points, but the points have moved and the domain has " +
                                       std::to_string(n) + "; bind it again");
    }
    throw Error(Status::invalid_argument,
                what + (slot.from_domain ? " is a coordinate, and the domain's points have none"
                                         : " is not bound; call surrogate_plan_bind_input or "
                                           "surrogate_plan_bind_output first"));
}

const Domain& Plan::domain_of(const Port& port) const {
    return port.place == PortPlace::output_points ? *output_ : *input_;
}

void Plan::set_port_columns(std::span<const surrogate_named_array> given, bool is_input) {
    const std::vector<NamedPort>& ports = is_input ? input_ports_ : output_ports_;
    Column* column = (is_input ? port_inputs_ : port_outputs_).data();
    for (const NamedPort& p : ports) {
        const auto found = std::ranges::find_if(
            given, [&](const surrogate_named_array& g) { return g.name && p.port.name == g.name; });
        if (found == given.end()) throw Error(Status::unknown_name, p.text + " is missing");
        check_array(found->array, p.text, device_ != nullptr, p.port.kind);
        const Domain& domain = domain_of(p.port);
        const bool by_cloud = p.port.place == PortPlace::clouds;
        const int64_t expected[] = {by_cloud ? domain.n_cloud() : domain.n_local(),
                                    p.port.n_channel};
        if (!std::ranges::equal(found->array.shape, expected)) {
            throw Error(Status::shape, p.text + ": array has shape " +
                                           shape_text(found->array.shape) + ", the plan asks for " +
                                           shape_text(expected));
        }
        for (int64_t c = 0; c < p.port.n_channel; ++c) *column++ = column_of(found->array, c);
    }
    if (given.size() == ports.size()) return;
    throw Error(Status::unknown_name, std::string("the network has ") +
                                          std::to_string(ports.size()) +
                                          (is_input ? " inputs, " : " outputs, ") +
                                          std::to_string(given.size()) + " were given");
}

}  // namespace surrogate::impl
