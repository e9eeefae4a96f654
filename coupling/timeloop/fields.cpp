// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/fields.hpp"

#include <algorithm>
#include <cmath>

#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

Field field_of(const surrogate_field_info& info) {
    Field field;
    field.name = info.name;
    field.unit = info.unit;
    field.mean = info.mean;
    field.std = info.std;
    return field;
}

/// Returns the component of a vector or tensor field: "x" of "velocity.x" for the name "velocity",
/// or "" if the field is not a component of `name`.
std::string component_of(const std::string& field, const std::string& name) {
    if (!field.starts_with(name + ".")) return "";
    std::string letters = field.substr(name.size() + 1);
    const bool is_component = letters.find_first_not_of("xyz") == std::string::npos;
    return is_component ? letters : "";
}

/// Returns the field of this name, or its components in alphabetical order.
std::vector<Field*> matching(std::vector<Field>& fields, const std::string& name) {
    std::vector<Field*> found;
    for (Field& field : fields) {
        if (field.name == name) return {&field};
        if (!component_of(field.name, name).empty()) found.push_back(&field);
    }
    std::ranges::sort(found, {}, [](const Field* field) { return field->name; });
    return found;
}

std::string names_of(const std::vector<Field>& fields) {
    std::string list;
    for (const Field& field : fields) list += (list.empty() ? "" : ", ") + field.name;
    return list.empty() ? "none" : list;
}

}  // namespace

void Field::to_plan() const {
    if (!stepped.empty()) stepped_points.write(0, n(), work.data());
}

void Field::from_plan() {
    if (!stepped.empty()) stepped_points.read(0, n(), work.data());
}

Fields::Fields(surrogate_plan* plan, const surrogate_model* model) : plan_(plan) {
    int32_t n_input = 0, n_output = 0;
    require_success(surrogate_model_n_inputs(model, &n_input));
    require_success(surrogate_model_n_outputs(model, &n_output));
    if (n_output == 0)
        fail(SURROGATE_INVALID_ARGUMENT,
             "the model's card names no fields, and a time loop has nothing to step; see "
             "surrogate_plan_run_network");
    surrogate_field_info info{};
    for (int32_t i = 0; i < n_input; ++i) {
        require_success(surrogate_model_input(model, i, &info));
        if (info.role == SURROGATE_FIELD) inputs_.push_back(field_of(info));
        if (info.role == SURROGATE_CLOUD) numbers_.push_back(field_of(info));
    }
    for (int32_t i = 0; i < n_output; ++i) {
        require_success(surrogate_model_output(model, i, &info));
        outputs_.push_back(field_of(info));
    }
    for (const Field& input : inputs_) {
        const auto same = std::ranges::find(outputs_, input.name, &Field::name);
        sources_.push_back(same == outputs_.end() ? -1 : static_cast<int>(same - outputs_.begin()));
    }
}

std::string Fields::list() const {
    return "(inputs: " + names_of(inputs_) +
           (numbers_.empty() ? "" : "; numbers per cloud: " + names_of(numbers_)) +
           "; outputs: " + names_of(outputs_) + ")";
}

bool Fields::has(const std::string& name) const {
    const auto has_name = [&](const Field& field) { return field.name == name; };
    return std::ranges::any_of(inputs_, has_name) || std::ranges::any_of(outputs_, has_name);
}

size_t Fields::output_of(const char* name) const {
    require(name, "output");
    const auto found = std::ranges::find(outputs_, std::string(name), &Field::name);
    if (found == outputs_.end())
        fail(SURROGATE_UNKNOWN_NAME,
             "the model has no output '" + std::string(name) + "' " + list());
    return static_cast<size_t>(found - outputs_.begin());
}

Fields::Found Fields::find(const char* name) {
    require(name, "name");
    Found found{matching(inputs_, name), matching(outputs_, name)};
    if (found.inputs.empty() && found.outputs.empty())
        fail(SURROGATE_UNKNOWN_NAME,
             "the model has no field '" + std::string(name) + "' " + list() +
                 "; arrays of the solver's own are bound by surrogate_timeloop_bind_state");
    return found;
}

void Fields::check_counts(const Found& found, int64_t n_input, int64_t n_output) const {
    if (found.inputs.empty() || found.outputs.empty()) return;
    const std::string& name = found.inputs.front()->name;
    if (found.inputs.size() != found.outputs.size())
        fail(SURROGATE_SHAPE,
             "field '" + name + "': input and output have different components " + list());
    if (n_input != n_output)
        fail(SURROGATE_SHAPE, "field '" + name +
                                  "' is input and output, but the input domain has " +
                                  std::to_string(n_input) + " points and the output domain " +
                                  std::to_string(n_output));
}

/// Returns true if steps write the array: it is an output, or an input that is connected to an
/// output.
bool Fields::is_written(const Found& found) const {
    const auto is_fed = [&](const Field* input) {
        return sources_[static_cast<size_t>(input - inputs_.data())] >= 0;
    };
    return !found.outputs.empty() || std::ranges::any_of(found.inputs, is_fed);
}

void Fields::require_unit(const Found& found, const char* unit) const {
    for (const auto* side : {&found.inputs, &found.outputs}) {
        for (const Field* field : *side) {
            if (!unit || field->unit == unit) continue;
            fail(SURROGATE_INVALID_ARGUMENT, "field '" + field->name + "' is in '" + field->unit +
                                                 "' in the model's card, the array in '" + unit +
                                                 "'");
        }
    }
}

/// Binds the plan to memory that the field owns.
void Fields::connect(Field* field, bool is_input, const Placement& placement) {
    field->work.resize(static_cast<size_t>(placement.n_point));
    field->stepped.resize(static_cast<size_t>(placement.is_stepped ? placement.n_memory() : 0));
    double* const first =
        placement.is_stepped ? field->stepped.data() + placement.first() : field->work.data();
    const surrogate_array array = surrogate_column_f64(first, placement.n_point, 1);
    if (placement.is_stepped) field->stepped_points = SolverArray(array, 0, placement);
    const char* const name = field->name.c_str();
    require_success(is_input ? surrogate_plan_bind_input(plan_, name, nullptr, &array)
                             : surrogate_plan_bind_output(plan_, name, nullptr, &array));
}

/// Sets the arrays of the found fields. array_of(component, placement) returns the array of a
/// component.
void Fields::set(const Found& found, const Placement& input, const Placement& output,
                 const auto& array_of) {
    for (const bool is_input : {true, false}) {
        const std::vector<Field*>& side = is_input ? found.inputs : found.outputs;
        const Placement& placement = is_input ? input : output;
        for (size_t c = 0; c < side.size(); ++c) {
            Field& field = *side[c];
            field.is_bound = false;
            connect(&field, is_input, placement);
            field.array = array_of(static_cast<int64_t>(c), placement);
            field.is_bound = true;
        }
    }
}

/// Binds the plan to the caller's array if the name is of numbers per cloud.
bool Fields::bind_numbers(const char* name, const char* unit, const surrogate_array* array) {
    const std::vector<Field*> found = name ? matching(numbers_, name) : std::vector<Field*>();
    if (found.empty()) return false;
    require_success(surrogate_plan_bind_input(plan_, name, unit, array));
    for (size_t c = 0; c < found.size(); ++c) {
        Placement rows;
        rows.n_point = array->shape[0];
        found[c]->array = SolverArray(*array, static_cast<int64_t>(c), rows);
        found[c]->is_bound = true;
    }
    return true;
}

void Fields::bind(const char* name, const char* unit, const surrogate_array* array,
                  const Placement& input, const Placement& output) {
    if (bind_numbers(name, unit, array)) return;
    const Found found = find(name);
    require(array, "array");
    check_counts(found, input.n_point, output.n_point);
    const bool is_input = !found.inputs.empty();
    const size_t n_component = (is_input ? found.inputs : found.outputs).size();
    check_array(*array, "field '" + std::string(name) + "'", is_input ? input : output,
                static_cast<int64_t>(n_component), is_written(found));
    require_unit(found, unit);
    set(found, input, output, [&](int64_t component, const Placement& placement) {
        return SolverArray(*array, component, placement);
    });
}

void Fields::bind(const char* name, const char* unit, const surrogate_block* block,
                  const Placement& input, const Placement& output) {
    if (name && !matching(numbers_, name).empty())
        fail(SURROGATE_NOT_SUPPORTED, "input '" + std::string(name) +
                                          "' is one number per cloud, and a block holds points; "
                                          "bind an array");
    const Found found = find(name);
    require(block, "block");
    check_counts(found, input.n_point, output.n_point);
    const bool is_input = !found.inputs.empty();
    if ((is_input ? found.inputs : found.outputs).size() > 1)
        fail(SURROGATE_SHAPE, "'" + std::string(name) +
                                  "' is a vector, and a block holds one number a point; bind its "
                                  "components by their names " +
                                  list());
    check_block(*block, "field '" + std::string(name) + "'", (is_input ? input : output).n_point,
                is_written(found));
    require_unit(found, unit);
    set(found, input, output, [&](int64_t, const Placement&) { return SolverArray(*block); });
}

void Fields::unbind() {
    for (Field& field : inputs_) field.is_bound = false;
    for (Field& field : outputs_) field.is_bound = false;
}

void Fields::feed(const char* output, const char* input) {
    const auto from = static_cast<int>(output_of(output));
    require(input, "input");
    const auto to = std::ranges::find(inputs_, std::string(input), &Field::name);
    if (to == inputs_.end())
        fail(SURROGATE_UNKNOWN_NAME,
             "the model has no input '" + std::string(input) + "' that is a field " + list());
    const Field& source = outputs_[static_cast<size_t>(from)];
    if (to->unit != source.unit)
        fail(SURROGATE_INVALID_ARGUMENT, "output '" + source.name + "' is in '" + source.unit +
                                             "', input '" + to->name + "' in '" + to->unit + "'");
    if (to->is_bound && !to->array.is_distinct())
        fail(SURROGATE_SHAPE, "input '" + to->name +
                                  "' is bound to an array whose numbers share memory, and a step "
                                  "would write it; bind an array with a number for each point");
    int& known = sources_[static_cast<size_t>(to - inputs_.begin())];
    if (known >= 0)
        fail(SURROGATE_INVALID_ARGUMENT, "input '" + to->name + "' is fed by output '" +
                                             outputs_[static_cast<size_t>(known)].name +
                                             "' already");
    known = from;
}

void Fields::check_numbers(const Field& field, int64_t n_cloud) {
    const int64_t n = field.array.n_point();
    const std::string what = "input '" + field.name + "'";
    if (n != 1 && n != n_cloud)
        fail(SURROGATE_SHAPE, what + ": the array has " + std::to_string(n) +
                                  " rows, the domain now " + std::to_string(n_cloud) +
                                  " clouds; rebind it");
    for (int64_t row = 0; row < n; ++row) {
        double value = 0;
        field.array.read(row, 1, &value);
        if (std::isfinite(value)) continue;
        fail(SURROGATE_NOT_FINITE, what + " is " + std::to_string(value) + " at " +
                                       (n > 1 ? "cloud " + std::to_string(row) : "all points") +
                                       ", expected a finite number");
    }
}

void Fields::require_bound(int64_t n_input, int64_t n_output, int64_t n_cloud) const {
    const auto check_is_bound = [](const Field& field, const char* side) {
        if (field.is_bound) return;
        fail(SURROGATE_INVALID_ARGUMENT, std::string(side) + " '" + field.name +
                                             "' is not bound; call surrogate_timeloop_bind first");
    };
    const auto check = [&](const Field& field, const char* side, int64_t n) {
        check_is_bound(field, side);
        if (field.n() != n)
            fail(SURROGATE_SHAPE, std::string(side) + " '" + field.name + "': the array has " +
                                      std::to_string(field.n()) + " points, the domain now " +
                                      std::to_string(n) + "; rebind it");
    };
    for (const Field& field : inputs_) check(field, "input", n_input);
    for (const Field& field : outputs_) check(field, "output", n_output);
    for (const Field& field : numbers_) {
        check_is_bound(field, "input");
        check_numbers(field, n_cloud);
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (sources_[i] >= 0 && n_input != n_output)
            fail(SURROGATE_SHAPE, "output '" + outputs_[static_cast<size_t>(sources_[i])].name +
                                      "' feeds input '" + inputs_[i].name +
                                      "', but the domains have different numbers of points");
    }
}

void Fields::read(size_t input, bool is_again, int64_t first, int64_t count) {
    Field& field = inputs_[input];
    double* const to = field.work.data() + first;
    if (!is_again || sources_[input] < 0) return field.array.read(first, count, to);
    const Field& source = outputs_[static_cast<size_t>(sources_[input])];
    std::copy_n(source.work.data() + first, count, to);
}

void Fields::write() const {
    for (const Field& field : outputs_) field.array.write(0, field.n(), field.work.data());
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (sources_[i] < 0) continue;
        const Field& source = outputs_[static_cast<size_t>(sources_[i])];
        inputs_[i].array.write(0, inputs_[i].n(), source.work.data());
    }
}

}  // namespace surrogate::timeloop
