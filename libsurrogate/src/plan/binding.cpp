// SPDX-License-Identifier: Apache-2.0
// The fields of a card, and the ports of a bare network, beside the arrays that a caller gives.
#include <algorithm>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/domain/array_axes.hpp"
#include "libsurrogate/src/plan/device/array_memory.hpp"
#include "libsurrogate/src/plan/plan.hpp"

namespace surrogate::impl {

namespace {

/// The port of a channel; all channels of all ports are numbered through.
const Port& port_of(std::span<const Port> ports, size_t channel) {
    auto port = ports.begin();
    for (int64_t c = static_cast<int64_t>(channel); c >= port->n_channel; ++port)
        c -= port->n_channel;
    return *port;
}

}  // namespace

/// The card's inputs; with coordinates=normalized, coordinates are normalized already.
void Plan::set_fields() {
    ranges_revision_ = model_->shared_card()->revision();
    fields_ = model_->card().inputs;
    if (options_.get("coordinates") == "physical") return;
    for (FieldCard& field : fields_) {
        if (!field.is_coordinate) continue;
        field.min = (field.min - field.mean) / field.std;
        field.max = (field.max - field.mean) / field.std;
        field.mean = 0;
        field.std = 1;
        field.unit.clear();
    }
}

void Plan::set_slots() {
    const std::vector<Port> inputs = model_->network().inputs();
    const std::vector<Port> outputs = model_->network().outputs();
    for (const FieldCard& field : fields_) {
        const Port& port = port_of(inputs, inputs_.size());
        Column column{nullptr, 1, true, field.mean, field.std, false, field.is_coordinate};
        if (!field.is_coordinate) {
            column.min = field.min;
            column.max = field.max;
        }
        outside_.emplace_back();
        input_slots_.push_back({field.name, field.unit, field.is_coordinate,
                                field.is_cloud ? PortPlace::clouds : port.place, port.kind,
                                port.is_optional});
        inputs_.push_back(column);
    }
    is_warned_.resize(inputs_.size());
    const auto n_number = std::ranges::count(fields_, true, &FieldCard::is_cloud);
    number_marks_.resize(2 * static_cast<size_t>(n_number));
    for (const FieldCard& field : model_->card().outputs) {
        const Port& port = port_of(outputs, outputs_.size());
        output_slots_.push_back({field.name, field.unit, false, port.place, port.kind, false});
        outputs_.push_back({nullptr, 1, true, field.mean, field.std, false, false});
    }
    for (const Port& port : inputs)
        input_ports_.push_back({port, "network input '" + port.name + "'"});
    for (const Port& port : outputs)
        output_ports_.push_back({port, "network output '" + port.name + "'"});
    positions_.resize(static_cast<size_t>(n_coordinate_of(inputs)));
    port_inputs_.resize(static_cast<size_t>(n_channel_of(inputs)));
    port_outputs_.resize(static_cast<size_t>(n_channel_of(outputs)));
    if (n_state_ > 1) {
        state_inputs_.resize(std::max(inputs_.size(), port_inputs_.size()));
        state_outputs_.resize(std::max(outputs_.size(), port_outputs_.size()));
        state_outside_.resize(state_inputs_.size());
    }
    set_coordinates();
}

/// Reads the domain's present coordinates, and counts those outside of their ranges. Numbers per
/// cloud get its present clouds.
void Plan::set_coordinates() {
    n_input_point_ = input_->n_local();
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const FieldCard& field = fields_[i];
        if (field.is_cloud) set_rows(i);
        if (!field.is_coordinate) continue;
        const bool is_there = field.axis < input_->n_axis();
        // Points without any coordinates are fine for run_network; run() rejects them.
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
    set_positions();
}

/// Sets the columns of the port of coordinates. If the card names inputs, they are the columns of
/// its first inputs.
void Plan::set_positions() {
    if (positions_.empty()) return;
    const int64_t n_axis = std::ssize(positions_);
    if (input_->n_axis() < n_axis && input_->n_global() > 0) {
        throw Error(Status::shape, input_ports_.front().text + " takes the " +
                                       std::to_string(n_axis) +
                                       " coordinates of each point from the domain, whose points "
                                       "have " +
                                       std::to_string(input_->n_axis()) + " coordinates");
    }
    for (int axis = 0; axis < n_axis; ++axis) {
        Column& column = positions_[static_cast<size_t>(axis)];
        if (!inputs_.empty()) {
            column = inputs_[static_cast<size_t>(axis)];
            continue;
        }
        const bool is_there = axis < input_->n_axis();
        column = {nullptr, 1, true, 0, 1, false, true};
        if (is_there) column.data = const_cast<double*>(input_->coordinate(axis));
    }
    std::ranges::copy(positions_, port_inputs_.begin());
}

void Plan::unbind() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (input_slots_[i].from_domain || is_per_cloud(i)) continue;
        input_slots_[i].is_bound = false;
        inputs_[i].data = nullptr;
    }
    for (Slot& slot : output_slots_) slot.is_bound = false;
    if (!derivatives_) return;
    std::ranges::fill(derivatives_->outputs, Derivatives::Bound{});
    std::ranges::fill(derivatives_->inputs, Derivatives::Bound{});
    std::ranges::fill(tangents_->outputs, Derivatives::Bound{});
    std::ranges::fill(tangents_->inputs, Derivatives::Bound{});
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
    const int64_t n = n_row(slot.place);
    const bool is_for_all = is_input && slot.place == PortPlace::clouds && slot.n_row == 1;
    if (slot.is_bound && (slot.from_domain || slot.n_row == n || is_for_all)) return;
    if (!slot.is_bound && slot.is_optional) return;
    const std::string what = std::string(is_input ? "input" : "output") + " '" + slot.name + "'";
    if (slot.is_bound) {
        const bool is_at_points = slot.place != PortPlace::clouds && slot.place != PortPlace::nodes;
        throw Error(Status::shape,
                    what + " is bound to an array of " + std::to_string(slot.n_row) +
                        (is_at_points ? " points" : " rows") +
                        ", but the points have moved and the " +
                        (is_at_points ? "domain" : "plan") + " has " + std::to_string(n) +
                        (slot.place == PortPlace::clouds ? " clouds" : "") + "; bind it again");
    }
    throw Error(Status::invalid_argument,
                what + (slot.from_domain ? " is a coordinate, and the domain's points have none"
                                         : " is not bound; call surrogate_plan_bind_input or "
                                           "surrogate_plan_bind_output first"));
}

const Domain& Plan::domain_of(PortPlace place) const {
    return place == PortPlace::output_points ? *output_ : *input_;
}

/// Rows of an array of this rank.
int64_t Plan::n_row(PortPlace place) const {
    if (place == PortPlace::nodes) return execution_ ? execution_->n_node() : 0;
    return n_state_ * (place == PortPlace::clouds ? input_->n_cloud() : domain_of(place).n_local());
}

/// The axes of an array with a row for each of what stands at `place`.
ArrayAxes Plan::axes_at(PortPlace place, const surrogate_array& array) const {
    const bool is_at_points = place != PortPlace::clouds && place != PortPlace::nodes;
    return is_at_points && n_state_ == 1 ? axes_of(array, domain_of(place)) : axes_of(array);
}

std::string Plan::row_text(PortPlace place, int64_t row) const {
    if (place == PortPlace::clouds) return "cloud " + std::to_string(row);
    if (place == PortPlace::nodes) return "node " + std::to_string(row);
    return is_behind() ? "local point " + std::to_string(row) + " before the points moved"
                       : domain_of(place).point_text(row);
}

void Plan::set_port_columns(std::span<const surrogate_named_array> given, bool is_input) {
    const std::vector<NamedPort>& ports = is_input ? input_ports_ : output_ports_;
    Column* column = (is_input ? port_inputs_ : port_outputs_).data();
    size_t n_expected = 0;
    for (const NamedPort& p : ports) {
        if (p.port.place == PortPlace::coordinates) {
            column += p.port.n_channel;  // set_positions()
            continue;
        }
        const auto found = std::ranges::find_if(
            given, [&](const surrogate_named_array& g) { return g.name && p.port.name == g.name; });
        if (found == given.end() && p.port.is_optional) {
            for (int64_t c = 0; c < p.port.n_channel; ++c) *column++ = Column{};
            continue;
        }
        if (found == given.end()) throw Error(Status::unknown_name, p.text + " is missing");
        ++n_expected;
        check_array(found->array, p.text, device_ && options_.get("gradients") == "false",
                    p.port.kind);
        const int64_t expected[] = {n_row(p.port.place), p.port.n_channel};
        if (!std::ranges::equal(found->array.shape, expected)) {
            throw Error(Status::shape, p.text + ": array has shape " +
                                           shape_text(found->array.shape) + ", the plan asks for " +
                                           shape_text(expected));
        }
        const ArrayAxes axes = axes_at(p.port.place, found->array);
        require_addressable(axes, p.text);
        if (!is_input) require_distinct(axes, p.text);
        if (device_) check_memory(device_->device(), found->array, p.text);
        for (int64_t c = 0; c < p.port.n_channel; ++c) *column++ = column_of(found->array, c);
    }
    if (given.size() == n_expected) return;
    const bool has_positions = n_expected < ports.size();
    throw Error(Status::unknown_name, std::string("the network has ") + std::to_string(n_expected) +
                                          (is_input ? " inputs" : " outputs") +
                                          (has_positions ? " besides '" + ports.front().port.name +
                                                               "', which come from the domain, "
                                                         : ", ") +
                                          std::to_string(given.size()) + " were given");
}

}  // namespace surrogate::impl
