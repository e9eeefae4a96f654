// SPDX-License-Identifier: Apache-2.0
#include "fields.hpp"

#include <algorithm>
#include <string_view>

#include "dm_fields.hpp"

namespace surrogate::petsc {

namespace {

std::string_view stem_of(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

}  // namespace

PetscErrorCode Fields::open(const surrogate_model* model, const Settings& settings,
                            const Problem& problem) {
    PetscFunctionBegin;
    PetscCall(close());
    model_ = model;
    settings_ = &settings;
    problem_ = problem;
    PetscCall(component_names(problem.dm, &components_));
    int32_t n_in = 0, n_out = 0;
    surrogate_field_info info{};
    PetscCallSurrogate(surrogate_model_n_inputs(model, &n_in));
    for (int32_t k = 0; k < n_in; ++k) {
        PetscCallSurrogate(surrogate_model_input(model, k, &info));
        if (info.role == SURROGATE_FIELD) PetscCall(add_input(info.name, info.name));
        if (info.role == SURROGATE_CLOUD) PetscCall(add_number(info.name));
    }
    PetscCheck(numbers_.size() == settings.numbers.size(), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "%s names '%s', which is not an input with the role cloud of the model's card",
               settings.flag("set").c_str(), unknown_number().c_str());
    PetscCallSurrogate(surrogate_model_n_outputs(model, &n_out));
    for (int32_t k = 0; k < n_out; ++k) {
        PetscCallSurrogate(surrogate_model_output(model, k, &info));
        PetscCall(add_output(info.name));
    }
    for (const auto& [name, source] : settings.sources) {
        const auto is_it = [&name = name](const surrogate_vec_field& field) {
            return name == field.name;
        };
        PetscCheck(std::ranges::any_of(in_, is_it) || std::ranges::any_of(out_, is_it),
                   PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
                   "%s names '%s', which is not a field of the model's card",
                   settings.flag("fields").c_str(), name.c_str());
    }
    PetscFunctionReturn(0);
}

PetscErrorCode Fields::close() {
    PetscFunctionBegin;
    in_.clear();
    out_.clear();
    numbers_.clear();
    for (Borrowed& lent : borrowed_)
        PetscCall(DMRestoreNamedGlobalVector(problem_.dm, lent.name.c_str(), &lent.vec));
    borrowed_.clear();
    has_diagonal_ = false;
    PetscFunctionReturn(0);
}

PetscErrorCode Fields::reset() {
    PetscFunctionBegin;
    PetscCall(close());
    PetscCall(VecDestroy(&diagonal_));
    PetscFunctionReturn(0);
}

/// The numbers are not Vecs: surrogate_plan_run_vec keeps them bound.
PetscErrorCode Fields::run(surrogate_plan* plan) const {
    PetscFunctionBegin;
    for (const auto& [name, value] : numbers_) {
        const surrogate_array number = surrogate_column_f64(value, 1, 1);
        PetscCallSurrogate(surrogate_plan_bind_input(plan, name, nullptr, &number));
    }
    PetscCall(surrogate_plan_run_vec(plan, PetscInt(in_.size()), in_.data(), PetscInt(out_.size()),
                                     out_.data()));
    PetscFunctionReturn(0);
}

PetscErrorCode Fields::add_number(const char* card_name) {
    PetscFunctionBegin;
    const auto said = settings_->numbers.find(card_name);
    PetscCheck(said != settings_->numbers.end(), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "the model needs the number '%s': %s %s=VALUE", card_name,
               settings_->flag("set").c_str(), card_name);
    numbers_.emplace_back(card_name, &said->second);
    PetscFunctionReturn(0);
}

/// Returns a name of -surrogate_set that the card does not have.
std::string Fields::unknown_number() const {
    for (const auto& [name, value] : settings_->numbers)
        if (std::ranges::none_of(numbers_, [&](const auto& known) { return known.first == name; }))
            return name;
    return "";
}

PetscErrorCode Fields::add_input(const std::string& name, const char* card_name) {
    PetscFunctionBegin;
    const auto said = settings_->sources.find(name);
    const Source source = said == settings_->sources.end() ? Source{name, -1} : said->second;
    Vec vec = nullptr;
    PetscInt component = source.component;
    PetscCall(find_source(source, &vec, &component));
    PetscCheck(
        vec, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
        "the model needs the field '%s': no Vec '%s' is composed with the %s, its DM or its "
        "matrix, "
        "and the DM has neither a named vector nor a field of that name (fields: %s); "
        "PetscObjectCompose((PetscObject)%s, \"%s\", (PetscObject)vec), or %s %s=SOURCE with rhs, "
        "diagonal, solution or another name",
        card_name, source.name.c_str(), problem_.kind(), list_of(components_).c_str(),
        problem_.matrix ? "ksp" : "snes", card_name, settings_->flag("fields").c_str(), card_name);
    PetscCall(take_component(card_name, vec, component, &in_));
    PetscFunctionReturn(0);
}

PetscErrorCode Fields::find_source(const Source& source, Vec* vec, PetscInt* component) {
    PetscFunctionBegin;
    if (source.name == "rhs") {
        *vec = problem_.rhs;
    } else if (source.name == "diagonal" && problem_.matrix) {
        PetscCall(find_diagonal(vec));
    } else if (source.name == "solution") {
        *vec = problem_.solution;
    } else {
        PetscCall(find_vec(source.name.c_str(), vec));
        if (*vec) PetscFunctionReturn(0);
        const auto named = std::ranges::find(components_, source.name);
        if (named != components_.end()) {
            *vec = problem_.solution;
            *component = PetscInt(named - components_.begin());
            PetscFunctionReturn(0);
        }
        PetscCall(find_stem(source.name, vec, component));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode Fields::find_vec(const char* name, Vec* vec) {
    PetscFunctionBegin;
    PetscCall(problem_.find_composed(name, vec));
    if (!*vec && problem_.dm) PetscCall(borrow_named(name, vec));
    PetscFunctionReturn(0);
}

PetscErrorCode Fields::borrow_named(const char* name, Vec* vec) {
    PetscFunctionBegin;
    const auto known = std::ranges::find(borrowed_, name, &Borrowed::name);
    if (known != borrowed_.end()) {
        *vec = known->vec;
        PetscFunctionReturn(0);
    }
    PetscBool is_there = PETSC_FALSE;
    PetscCall(DMHasNamedGlobalVector(problem_.dm, name, &is_there));
    if (!is_there) PetscFunctionReturn(0);
    borrowed_.reserve(borrowed_.size() + 1);
    std::string kept = name;
    PetscCall(DMGetNamedGlobalVector(problem_.dm, name, vec));
    borrowed_.push_back({std::move(kept), *vec});
    PetscFunctionReturn(0);
}

/// Finds velocity.y as a component of `velocity`. The component is the index of the name among
/// velocity.x, velocity.y, .. of the card in alphabetical order.
PetscErrorCode Fields::find_stem(const std::string& name, Vec* vec, PetscInt* component) {
    PetscFunctionBegin;
    const std::string stem(stem_of(name));
    if (stem.empty()) PetscFunctionReturn(0);
    PetscCall(find_vec(stem.c_str(), vec));
    if (!*vec) PetscFunctionReturn(0);
    int32_t n_in = 0;
    surrogate_field_info info{};
    PetscCallSurrogate(surrogate_model_n_inputs(model_, &n_in));
    *component = 0;
    for (int32_t k = 0; k < n_in; ++k) {
        PetscCallSurrogate(surrogate_model_input(model_, k, &info));
        if (stem_of(info.name) == stem && name > info.name) ++*component;
    }
    PetscFunctionReturn(0);
}

PetscErrorCode Fields::find_diagonal(Vec* vec) {
    PetscFunctionBegin;
    if (!diagonal_) PetscCall(VecDuplicate(problem_.solution, &diagonal_));
    if (!has_diagonal_) PetscCall(MatGetDiagonal(problem_.matrix, diagonal_));
    has_diagonal_ = true;
    *vec = diagonal_;
    PetscFunctionReturn(0);
}

PetscErrorCode Fields::add_output(const char* card_name) {
    PetscFunctionBegin;
    const auto said = settings_->sources.find(card_name);
    const bool is_said = said != settings_->sources.end();
    const Source source = is_said ? said->second : Source{card_name, -1};
    PetscInt component = source.component, n_component = 0;
    PetscCall(VecGetBlockSize(problem_.solution, &n_component));
    const auto named = std::ranges::find(components_, source.name);
    const bool is_solution = source.name == "solution" || (n_component == 1 && !is_said);
    if (named != components_.end())
        component = PetscInt(named - components_.begin());
    else
        PetscCheck(
            is_solution, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
            "the model predicts '%s', and '%s' is not a field of the DM (fields: %s); name them "
            "(DMDASetFieldName), or %s %s=solution:COMPONENT",
            card_name, source.name.c_str(), list_of(components_).c_str(),
            settings_->flag("fields").c_str(), card_name);
    PetscCall(take_component(card_name, problem_.solution, component, &out_));
    const PetscInt taken = out_.back().component;
    for (std::size_t k = 0; k + 1 < out_.size(); ++k)
        PetscCheck(out_[k].component != taken, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
                   "the model predicts '%s' and '%s', and both would be component %" PetscInt_FMT
                   " of the solution; say which they are: %s %s=solution:COMPONENT",
                   out_[k].name, card_name, taken, settings_->flag("fields").c_str(), card_name);
    PetscFunctionReturn(0);
}

PetscErrorCode Fields::take_component(const char* card_name, Vec vec, PetscInt component,
                                      std::vector<surrogate_vec_field>* fields) {
    PetscFunctionBegin;
    PetscInt n_component = 0;
    PetscCall(VecGetBlockSize(vec, &n_component));
    PetscCheck(component >= 0 || n_component == 1, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "the Vec for the field '%s' has %" PetscInt_FMT
               " components a point; say which: %s %s=SOURCE:COMPONENT",
               card_name, n_component, settings_->flag("fields").c_str(), card_name);
    PetscCheck(component < n_component, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "the Vec for the field '%s' has %" PetscInt_FMT
               " components a point, and component %" PetscInt_FMT " is asked for; see %s",
               card_name, n_component, component, settings_->flag("fields").c_str());
    PetscInt n = 0, n_solution = 0, n_component_solution = 0;
    PetscCall(VecGetLocalSize(vec, &n));
    PetscCall(VecGetLocalSize(problem_.solution, &n_solution));
    PetscCall(VecGetBlockSize(problem_.solution, &n_component_solution));
    PetscCheck(n / n_component == n_solution / n_component_solution, PETSC_COMM_SELF,
               PETSC_ERR_ARG_SIZ,
               "the Vec for the field '%s' has %" PetscInt_FMT
               " points on this rank, the solution has %" PetscInt_FMT
               "; both have the same points in the same order",
               card_name, n / n_component, n_solution / n_component_solution);
    fields->push_back({card_name, nullptr, vec, std::max(component, PetscInt{0}), n_component});
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
