// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl {

Plan::Plan(std::shared_ptr<const Model> model, std::shared_ptr<const Domain> input,
           std::shared_ptr<const Domain> output, const Options& options)
    : model_(std::move(model)), input_(std::move(input)), output_(std::move(output)) {
    kernels::Queue queue;
    Communicator& comm = context().comm();
    comm.agree([&] {
        if (&model_->context() != &input_->context() || &model_->context() != &output_->context()) {
            throw Error(Status::invalid_argument, "model and domain belong to different contexts");
        }
        require_clouds();
        options_ = options.over(context().options());
        queue = context().make_queue(options_);
        set_slots();
    });
    require_same_options(comm, options_);
    agrees_ = options_.get("agree") == "true";
    stops_at_range_ = options_.get("range") == "error";
    warns_ = options_.get("range") == "warn";
    coordinates_ = Coordinates(*input_, model_->card().inputs);
    if (wants_device(options_)) device_ = &context().open_device(options_);
    std::optional<PlanRequest> request;
    comm.agree([&] {
        request.emplace(PlanRequest{*input_, *output_, queue});
        request->precision = options_.get("precision");
        request->reproducible = options_.get("reproducible") == "true";
        request->device = device_;
        request->inputs = inputs_;
        request->stops_at_range = stops_at_range_;
    });
    execution_ = make_execution(model_->network(), *request);
    comm.agree([&] {
        options_.set("threads", std::to_string(queue.n_thread()));
        options_.set("vector", name(queue.level()));
        options_.set("backend", device_ ? "cuda" : name(queue.backend()));
        if (device_) {
            options_.set("device", std::to_string(device_->device().properties().index));
        }
        if (comm.rank() == 0 && context().has_log()) context().log(describe());
    });
}

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
        bool has_coordinate = false;
        if (field.is_coordinate) {
            // Points without any coordinates are fine for run_network; run() refuses them.
            has_coordinate = field.axis < input_->n_axis() || input_->n_global() == 0;
            if (!has_coordinate && input_->n_axis() > 0) {
                throw Error(Status::shape, "the model's input '" + field.name + "' is coordinate " +
                                               std::to_string(field.axis) +
                                               " of the domain, whose points have " +
                                               std::to_string(input_->n_axis()) + " coordinates");
            }
            // Read only: inputs are never written through a Column.
            if (field.axis < input_->n_axis())
                column.data = const_cast<double*>(input_->coordinate(field.axis));
        }
        outside_.push_back(field.is_coordinate ? Coordinates::outside(*input_, field) : Outside{});
        input_slots_.push_back({field.name, field.unit, field.is_coordinate, has_coordinate});
        inputs_.push_back(column);
    }
    is_warned_.resize(inputs_.size());
    for (const FieldCard& field : card.outputs) {
        output_slots_.push_back({field.name, field.unit, false, false});
        outputs_.push_back({nullptr, 1, true, field.mean, field.std, false, false});
    }
    for (const Port& port : model_->network().inputs()) {
        input_ports_.push_back({port, "network input '" + port.name + "'"});
        port_inputs_.resize(port_inputs_.size() + static_cast<size_t>(port.n_channel));
    }
    for (const Port& port : model_->network().outputs()) {
        output_ports_.push_back({port, "network output '" + port.name + "'"});
        port_outputs_.resize(port_outputs_.size() + static_cast<size_t>(port.n_channel));
    }
}

void Plan::bind_input(const char* name, const char* unit, const surrogate_array* array) {
    bind(name, unit, array, true);
}

void Plan::bind_output(const char* name, const char* unit, const surrogate_array* array) {
    bind(name, unit, array, false);
}

void Plan::bind(const char* name, const char* unit, const surrogate_array* array, bool is_input) {
    if (!name) throw Error(Status::invalid_argument, "name of the field is NULL");
    if (!array)
        throw Error(Status::invalid_argument,
                    std::string("array for field '") + name + "' is NULL");
    std::vector<Slot>& slots = is_input ? input_slots_ : output_slots_;
    const std::string side = is_input ? "input" : "output";
    const auto slot = std::ranges::find(slots, std::string_view(name), &Slot::name);
    if (slot == slots.end() || slot->from_domain) {
        std::vector<std::string> names;
        std::string list;
        for (const Slot& s : slots) {
            if (s.from_domain) continue;
            names.push_back(s.name);
            list += (list.empty() ? "" : ", ") + s.name;
        }
        if (slot != slots.end()) {
            throw Error(Status::invalid_argument, "input '" + slot->name +
                                                      "' is a coordinate and comes from the "
                                                      "domain; bind only: " +
                                                      list);
        }
        throw Error(Status::unknown_name,
                    "the model has no " + side + " '" + printable(name) + "' (" + side +
                        "s: " + (list.empty() ? "none" : list) + ")" + did_you_mean(name, names));
    }
    const std::string what = side + " '" + slot->name + "'";
    if (unit && slot->unit != unit) {
        throw Error(Status::invalid_argument, what + " is in '" + slot->unit +
                                                  "' in the model's card, the array in '" +
                                                  printable(unit) + "'");
    }
    check_array(*array, what, device_ != nullptr);
    const int64_t n = is_input ? input_->n_local() : output_->n_local();
    if (array->shape[0] != n || array->shape[1] != 1) {
        throw Error(
            Status::shape,
            what + ": array has shape " + shape_text(array->shape) + ", the domain asks for (" +
                std::to_string(n) + ", 1)" +
                (array->shape[0] == 1 && array->shape[1] == n ? "; it looks transposed" : ""));
    }
    Column& column = (is_input ? inputs_ : outputs_)[static_cast<size_t>(slot - slots.begin())];
    const Column bound = column_of(*array, 0);
    column.data = bound.data;
    column.stride = bound.stride;
    column.is_double = bound.is_double;
    column.is_on_device = bound.is_on_device;
    slot->is_bound = true;
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
    const char* const remedy =
        " is not bound; call surrogate_plan_bind_input or surrogate_plan_bind_output first";
    for (const Slot& slot : input_slots_) {
        if (slot.is_bound) continue;
        throw Error(Status::invalid_argument,
                    "input '" + slot.name + "'" +
                        (slot.from_domain ? " is a coordinate, and the domain's points have none"
                                          : remedy));
    }
    for (const Slot& slot : output_slots_) {
        if (!slot.is_bound)
            throw Error(Status::invalid_argument, "output '" + slot.name + "'" + remedy);
    }
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

/// The exchanges of `work` are those of all ranks, whatever fails in it; the agreement comes behind.
template <class Work>
void Plan::agreed(const Work& work) {
    if (agrees_) {
        context().comm().agree(work);
    } else {
        work();
    }
}

void Plan::run() {
    by_port_ = false;
    const auto check = [&] {
        require_bound();
        execution_->require_usable(outputs_);
    };
    agreed([&] { execute(check, inputs_, outputs_); });
}

void Plan::run_failed(Status status, const char* text) {
    by_port_ = false;
    agreed([&] { execute([&] { throw Error(status, text); }, {}, {}); });
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

void Plan::run_network(std::span<const surrogate_named_array> inputs,
                       std::span<const surrogate_named_array> outputs) {
    by_port_ = true;
    const auto check = [&] {
        if (!inputs.data() || !outputs.data())
            throw Error(Status::invalid_argument, "the list of network inputs or outputs is NULL");
        set_port_columns(inputs, true);
        set_port_columns(outputs, false);
        execution_->require_usable(port_outputs_);
    };
    agreed([&] { execute(check, port_inputs_, port_outputs_); });
}

std::string Plan::bad_value_text(const BadValue& bad, bool is_input, bool by_port) const {
    int column = bad.column;
    std::string where = std::string(is_input ? "input '" : "output '");
    std::string place;
    if (!by_port) {
        place = (is_input ? input_ : output_)->point_text(bad.point);
        where += (is_input ? input_slots_ : output_slots_)[static_cast<size_t>(column)].name + "'";
    } else {
        auto port = (is_input ? input_ports_ : output_ports_).begin();
        for (; column >= port->port.n_channel; ++port)
            column -= static_cast<int>(port->port.n_channel);
        place = port->port.place == PortPlace::clouds ? "cloud " + std::to_string(bad.point)
                                                      : domain_of(port->port).point_text(bad.point);
        where = port->text + ", channel " + std::to_string(column) + ",";
    }
    char value[40] = "bad";
    if (bad.is_value_known) std::snprintf(value, sizeof value, "%g", bad.value);
    return where + " is " + value + " at " + place + ", not a finite number in " +
           (is_input ? "single precision" : "the type of its array");
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
    const int64_t run = n_run_++;
    was_by_port_[static_cast<size_t>(run % Execution::max_pending)] = by_port_;
    const Execution::Result result =
        execution_->run(run, inputs, outputs, static_cast<bool>(problem));
    const auto traffic = execution_->traffic();
    bytes_sent_ = traffic ? traffic->bytes : comm.bytes_sent();
    n_collective_ = traffic ? traffic->collectives : comm.n_collective();
    if (problem) std::rethrow_exception(problem);
    note_outside();
    require_good(result, by_port_, "");
    if (late) require_good(*late);
    if (agrees_ && result.is_pending) wait();
    if (by_port_ || !stops_at_range_) return;
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (inputs_[i].is_constant) require_in_range(static_cast<int>(i), outside_[i], "");
    }
    require_in_range(result.outside_column, result.outside, "");
}

void Plan::wait() {
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
    const std::span<const Outside> counted = execution_->outside();
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (!inputs_[i].is_constant) outside_[i] = counted[i];
        if (!warns_ || outside_[i].n == 0 || is_warned_[i] || !context().has_log()) continue;
        is_warned_[i] = true;
        context().log("warning: " + outside_text(static_cast<int>(i), outside_[i]) + "\n");
    }
}

std::string Plan::outside_text(int input, const Outside& outside) const {
    const FieldCard& field = model_->card().inputs[static_cast<size_t>(input)];
    Communicator& comm = context().comm();
    const std::string points = std::to_string(input_->n_local()) + " points" +
                               (comm.size() > 1 ? " of rank " + std::to_string(comm.rank()) : "");
    return "input '" + field.name + "' lies outside the range of the training data, " +
           range_text(field.min, field.max) + (field.unit.empty() ? "" : " " + field.unit) +
           ", at " + std::to_string(outside.n) + " of " + points + ", farthest " +
           number_text(outside.worst);
}

void Plan::require_in_range(int input, const Outside& outside, const std::string& prefix) const {
    if (input < 0 || outside.n == 0) return;
    throw Error(Status::out_of_range, prefix + outside_text(input, outside));
}

surrogate_range_info Plan::range(int32_t input) const {
    const std::vector<FieldCard>& fields = model_->card().inputs;
    if (input < 0 || input >= std::ssize(fields)) {
        throw Error(Status::invalid_argument, "input " + std::to_string(input) + " of " +
                                                  std::to_string(fields.size()) +
                                                  " does not exist");
    }
    const FieldCard& field = fields[static_cast<size_t>(input)];
    const Outside& outside = outside_[static_cast<size_t>(input)];
    return {field.name.c_str(), field.min, field.max, input_->n_local(), outside.n, outside.worst};
}

int64_t Plan::n_outside() const {
    int64_t n = 0;
    for (const Outside& outside : outside_) n += outside.n;
    return n;
}

void Plan::require_good(const Execution::Result& result, bool by_port,
                        const std::string& prefix) const {
    if (result.is_good() || options_.get("check_finite") == "false") return;
    if (result.bad_input.column >= 0) {
        throw Error(Status::not_finite, prefix + bad_value_text(result.bad_input, true, by_port));
    }
    if (!result.is_finite) {
        throw EchoedError(
            Status::not_finite,
            prefix +
                "values that are not finite came from another rank or arose in the "
                "network; all predictions are NaN (the rank at fault has its own error)");
    }
    throw Error(Status::not_finite, prefix + bad_value_text(result.bad_output, false, by_port));
}

const std::string& Plan::option(const char* key) const {
    if (!key) throw Error(Status::invalid_argument, "option key is NULL");
    return options_.get(key);
}

int64_t Plan::counter(const char* key) const {
    if (!key) throw Error(Status::invalid_argument, "counter key is NULL");
    const std::pair<std::string, int64_t> counters[] = {
        {"bytes_sent", bytes_sent_},
        {"collectives", n_collective_},
        {"runs", n_run_},
        {"workspace_bytes", execution_->workspace_bytes()},
        {"points_local", execution_->n_point()},
        {"outside_range", n_outside()},
    };
    std::vector<std::string> names;
    for (const auto& [name, value] : counters) {
        if (name == key) return value;
        names.push_back(name);
    }
    throw Error(Status::unknown_name, "counter '" + printable(key) +
                                          "' does not exist (counters are: bytes_sent, "
                                          "collectives, runs, workspace_bytes, points_local, "
                                          "outside_range)" +
                                          did_you_mean(key, names));
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
    for (const std::string& line : coordinates_.lines(model_->card().inputs)) text += line + "\n";
    for (const FieldCard& field : model_->card().inputs) {
        if (!field.is_coordinate && std::isinf(field.min) && std::isinf(field.max))
            without += (without.empty() ? "" : ", ") + field.name;
    }
    if (without.empty()) return text;
    return text + "the card has no range for " + without + ": values outside cannot be counted\n";
}

std::string Plan::describe() const {
    std::string text = model_->card().family + " on " + std::to_string(output_->n_global()) +
                       " points, " + std::to_string(execution_->n_point()) +
                       " of them computed by this rank\n";
    for (const char* key : {"backend", "vector", "threads", "precision", "reproducible",
                            "check_finite", "agree", "range"}) {
        text += std::string(key) + "=" + options_.get(key) + " ";
    }
    text += "transport=" + std::string(context().comm().transport()) + "\n";
    if (device_) {
        text += "device " + device_->device_text() + "\n";
        text += "reductions by " + device_->transport_text() + "\n";
    }
    text += ranges_text();
    text += "workspace " + std::to_string(execution_->workspace_bytes()) + " bytes\n\n";
    text += "layer                          Mflop     Mexp      bytes  collectives  messages\n";
    LayerCost total{.name = "total of this rank"};
    for (const LayerCost& cost : execution_->costs()) {
        text += line(cost);
        total.flops += cost.flops;
        total.exponentials += cost.exponentials;
        total.bytes_sent += cost.bytes_sent;
        total.collectives += cost.collectives;
        total.messages += cost.messages;
    }
    text += line(total);
    for (const std::string& note : execution_->notes()) text += note + "\n";
    return text;
}

}  // namespace surrogate::impl
