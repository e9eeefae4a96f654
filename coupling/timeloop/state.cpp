// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/state.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

void State::set(const char* name, const char* unit, std::vector<SolverArray> components) {
    Own own{name, unit ? unit : "", std::move(components)};
    const auto known = std::ranges::find(own_, own.name, &Own::name);
    if (known == own_.end())
        own_.push_back(std::move(own));
    else
        *known = std::move(own);
}

namespace {

std::string named(const Fields& fields, const char* name) {
    require(name, "name");
    if (fields.has(name))
        fail(SURROGATE_INVALID_ARGUMENT, "'" + std::string(name) +
                                             "' is a field of the model's card, expected another "
                                             "name; bind fields with surrogate_timeloop_bind");
    return "state '" + std::string(name) + "'";
}

}  // namespace

void State::bind(const char* name, const char* unit, const surrogate_array* array,
                 const Placement& input) {
    const std::string what = named(*fields_, name);
    require(array, "array");
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (array->shape[1] > most)
        fail(SURROGATE_LIMIT, what + ": the array has " + std::to_string(array->shape[1]) +
                                  " components, expected at most " + std::to_string(most));
    check_array(*array, what, input, std::max<int64_t>(array->shape[1], 1), true);
    std::vector<SolverArray> components;
    components.reserve(static_cast<size_t>(array->shape[1]));
    for (int64_t c = 0; c < array->shape[1]; ++c) components.emplace_back(*array, c, input);
    set(name, unit, std::move(components));
}

void State::bind(const char* name, const char* unit, const surrogate_block* block,
                 const Placement& input) {
    const std::string what = named(*fields_, name);
    require(block, "block");
    check_block(*block, what, input.n_point, true);
    set(name, unit, {SolverArray(*block)});
}

void State::require_length(int64_t n_point) const {
    for (const Own& own : own_) {
        if (own.components.front().n_point() != n_point)
            fail(SURROGATE_SHAPE, "state '" + own.name + "': the array has " +
                                      std::to_string(own.components.front().n_point()) +
                                      " points, the domain now " + std::to_string(n_point) +
                                      "; rebind it");
    }
}

template <class Visit>
void State::for_each(const Visit& visit) const {
    for (const Field& field : fields_->outputs())
        visit(field.name, field.unit, true, std::span(&field.array, 1));
    for (size_t i = 0; i < fields_->inputs().size(); ++i) {
        const Field& field = fields_->inputs()[i];
        const int source = fields_->source_of(i);
        if (source < 0 || fields_->outputs()[static_cast<size_t>(source)].name == field.name)
            continue;
        visit(field.name, field.unit, false, std::span(&field.array, 1));
    }
    for (const Own& own : own_) visit(own.name, own.unit, false, std::span(own.components));
}

void State::shape(std::vector<StateField>* fields) const {
    fields->clear();
    for_each([&](const std::string& name, const std::string& unit, bool is_output, auto columns) {
        const SolverArray& first = columns.front();
        const size_t n_byte =
            static_cast<size_t>(first.n_point() * first.number_size()) * columns.size();
        StateField field;
        field.name = name;
        field.unit = unit;
        field.dtype = first.dtype();
        field.n_component = std::ssize(columns);
        field.at_output = is_output;
        field.values.resize(n_byte);
        fields->push_back(std::move(field));
    });
}

void State::save(std::vector<StateField>* fields) const {
    auto field = fields->begin();
    for_each([&](const std::string&, const std::string&, bool, auto columns) {
        for (size_t c = 0; c < columns.size(); ++c)
            columns[c].copy_to(
                field->values.data() + static_cast<int64_t>(c) * columns[c].number_size(),
                field->n_component);
        ++field;
    });
}

void State::load(const std::vector<StateField>& fields) const {
    auto field = fields.begin();
    for_each([&](const std::string&, const std::string&, bool, auto columns) {
        for (size_t c = 0; c < columns.size(); ++c)
            columns[c].copy_from(
                field->values.data() + static_cast<int64_t>(c) * columns[c].number_size(),
                field->n_component);
        ++field;
    });
}

}  // namespace surrogate::timeloop
