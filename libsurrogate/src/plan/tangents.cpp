// SPDX-License-Identifier: Apache-2.0
// Derivatives of predictions along a direction: J v in physical units, as a central difference.
#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <new>

#include "libsurrogate/src/domain/array_axes.hpp"
#include "libsurrogate/src/domain/blocks.hpp"
#include "libsurrogate/src/domain/sphere_domain.hpp"
#include "libsurrogate/src/plan/plan.hpp"

namespace surrogate::impl {

namespace {

/// Rows of arrays that have no memory yet.
constexpr int64_t unconnected = -2;

/// A central difference: sum over k of weight[k] (f(x + (k + 1) h v) - f(x - (k + 1) h v)) / h.
/// `step` moves the input that changes most, relative to its std, by h; it is chosen so that errors
/// of rounding and of the difference are about equal.
struct Stencil {
    double step;
    int n_pair;
    double weight[2];
};
constexpr Stencil in_double{0x1p-17, 1, {1.0 / 2, 0}};         // error h^2
constexpr Stencil in_single{0x1p-5, 2, {2.0 / 3, -1.0 / 12}};  // error h^4

/// A column as numbers of the caller's own unit.
Column bare(Column column) {
    column.mean = 0;
    column.std = 1;
    column.min = -std::numeric_limits<double>::infinity();
    column.max = std::numeric_limits<double>::infinity();
    return column;
}

/// Calls body(first, count, numbers) for all n numbers of a column, a tile at a time.
template <class Body>
void for_numbers(const Column& column, int64_t n, const Body& body) {
    std::array<double, kernels::tile_points> numbers{};
    Outside outside;  // the column has no range
    for (int64_t first = 0; first < n; first += kernels::tile_points) {
        const int64_t count = std::min(kernels::tile_points, n - first);
        if (column.data) {
            const BadValue bad =
                gather(std::span(&column, 1), first, count, numbers.data(), 1, 1, &outside);
            if (bad.column >= 0) numbers[static_cast<size_t>(bad.point - first)] = bad.value;
        }
        body(first, count, numbers.data());
    }
}

}  // namespace

int64_t Plan::Tangents::bytes() const {
    int64_t n_byte = plan ? plan->counter("workspace_bytes") : 0;
    for (const auto* all : {&at, &result, &sum})
        for (const Values& values : *all) n_byte += values.memory.bytes();
    return n_byte;
}

/// Throws not_supported for networks whose predictions jump along a direction.
void Plan::require_tangents() const {
    require_derivatives();
    if (!model_->network().chooses_by_values()) return;
    throw Error(Status::not_supported,
                "tangents are not computed for a network that chooses by its inputs what a point "
                "attends to (hept, bsa with sparse attention), where a difference would count the "
                "jumps; surrogate_plan_run_backward differentiates with these choices held");
}

void Plan::require_tangent_by(std::span<const size_t> inputs) const {
    for (const size_t i : inputs) {
        const Slot& slot = input_slots_[i];
        const char* reason = nullptr;
        if (slot.from_domain)
            reason = "' is a coordinate";
        else if (slot.kind == NumberKind::integer)
            reason = "' is whole numbers";
        else if (slot.is_optional)
            reason = "' is optional";
        if (!reason) continue;
        throw Error(Status::not_supported, "input '" + slot.name + reason +
                                               ", expected a field or a number per cloud; "
                                               "bind the tangents of the others");
    }
}

void Plan::bind_tangent(const char* name, const char* unit, const surrogate_array* array,
                        bool is_input) {
    require_tangents();
    const std::vector<size_t> found = checked_slots(name, unit, array, is_input, is_input);
    if (is_input) {
        require_tangent_by(found);
    } else {
        require_distinct(axes_at(output_slots_[found.front()].place, *array),
                         "tangent of " + field_text(name, found, false));
    }
    std::vector<Derivatives::Bound>& bound = is_input ? tangents_->inputs : tangents_->outputs;
    for (size_t c = 0; c < found.size(); ++c)
        bound[found[c]] = {column_of(*array, static_cast<int64_t>(c)), array->shape[0]};
}

void Plan::bind_tangent(const char* name, const char* unit, const surrogate_block* block,
                        bool is_input) {
    require_tangents();
    const size_t slot = checked_slot(name, unit, block, is_input, is_input);
    if (is_input) {
        require_tangent_by(std::span(&slot, 1));
    } else {
        require_distinct(axes_of(*block), "tangent of " + field_text(name, {&slot, 1}, false));
    }
    (is_input ? tangents_->inputs : tangents_->outputs)[slot] = {
        column_of(*block), n_row(slots(is_input)[slot].place)};
}

void Plan::bind_input_tangent(const char* name, const char* unit, const surrogate_array* v) {
    bind_tangent(name, unit, v, true);
}

void Plan::bind_output_tangent(const char* name, const char* unit, const surrogate_array* jv) {
    bind_tangent(name, unit, jv, false);
}

void Plan::bind_input_tangent(const char* name, const char* unit, const surrogate_block* v) {
    bind_tangent(name, unit, v, true);
}

void Plan::bind_output_tangent(const char* name, const char* unit, const surrogate_block* jv) {
    bind_tangent(name, unit, jv, false);
}

/// Collective, agreed.
void Plan::make_tangent_plan() {
    if (tangents_->plan) return;
    Options options = options_;
    options.set("gradients", "false");
    options.set("range", "count");
    context().comm().agree([&] {
        tangents_->at.resize(inputs_.size());
        tangents_->result.resize(outputs_.size());
        tangents_->sum.resize(outputs_.size());
        tangents_->rows.assign(inputs_.size() + outputs_.size(), unconnected);
    });
    tangents_->plan = std::make_unique<Plan>(model_, input_, output_, options);
}

/// Calls body(part, n) for the rows of a grid, or once for all rows: part(column) has n numbers
/// with one stride.
template <class Body>
void Plan::for_rows(PortPlace place, int64_t n_row, const Body& body) const {
    const auto* const grid = dynamic_cast<const SphereDomain*>(&domain_of(place));
    if (!grid || place == PortPlace::clouds || place == PortPlace::nodes)
        return body([](const Column& column) { return column; }, n_row);
    for (int64_t row = 0; row < grid->own().n_row; ++row) {
        body([&](const Column& column) { return grid->row_of(column, row); }, grid->own().n_column);
    }
}

/// Rows of the array that is bound to an input.
int64_t Plan::n_given_row(size_t input) const {
    return is_per_cloud(input) ? input_slots_[input].n_row : n_row(input_slots_[input].place);
}

/// Gives `values` memory for rows at `place`, and returns the array.
surrogate_array Plan::sized(Tangents::Values& values, PortPlace place, int64_t n_row) const {
    surrogate_array array{nullptr, {n_row, 1}, {1, 1}, SURROGATE_FLOAT64, SURROGATE_HOST};
    const ArrayAxes axes = axes_at(place, array);
    int64_t before = 0, after = 0;
    for (size_t k = 0; k < axes.n_axis && n_row > 0; ++k) {
        const int64_t span = (axes.extent[k] - 1) * axes.stride[k];
        (span < 0 ? before : after) += std::abs(span);
    }
    values.memory.resize(before + after + 1);
    array.data = values.memory.data() + before;
    values.column = column_of(array, 0);
    return array;
}

/// Gives the other plan arrays of its own, if it has none of these sizes. Local.
void Plan::connect_tangents() {
    Tangents& t = *tangents_;
    const auto rows_of = [&](size_t i) {
        const bool is_input = i < inputs_.size();
        const Slot& slot = is_input ? input_slots_[i] : output_slots_[i - inputs_.size()];
        if (is_input && !slot.is_bound) return int64_t{-1};
        return is_input ? n_given_row(i) : n_row(slot.place);
    };
    size_t n_equal = 0;
    while (n_equal < t.rows.size() && t.rows[n_equal] == rows_of(n_equal)) ++n_equal;
    if (n_equal == t.rows.size()) return;
    std::ranges::fill(t.rows, unconnected);
    t.plan->unbind();
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const Slot& slot = input_slots_[i];
        if (slot.from_domain || !slot.is_bound) continue;
        if (slot.kind == NumberKind::integer) {
            throw Error(Status::not_supported,
                        "input '" + slot.name +
                            "' is whole numbers, expected a model of real inputs; tangents are "
                            "computed for these");
        }
        const surrogate_array array = sized(t.at[i], slot.place, n_given_row(i));
        t.plan->bind_input(slot.name.c_str(), nullptr, &array);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
        const Slot& slot = output_slots_[i];
        const surrogate_array array = sized(t.result[i], slot.place, n_row(slot.place));
        sized(t.sum[i], slot.place, n_row(slot.place));
        t.plan->bind_output(slot.name.c_str(), nullptr, &array);
    }
    for (size_t i = 0; i < t.rows.size(); ++i) t.rows[i] = rows_of(i);
}

/// Returns the largest change of a normalized input on this rank.
double Plan::largest_direction() const {
    double largest = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const Column v = bare(tangents_->inputs[i].column);
        if (!v.data) continue;
        for_rows(input_slots_[i].place, n_given_row(i), [&](const auto& part, int64_t n) {
            for_numbers(part(v), n, [&](int64_t, int64_t count, const double* numbers) {
                for (int64_t k = 0; k < count; ++k)
                    largest = std::max(largest, std::abs(numbers[k]) / inputs_[i].std);
            });
        });
    }
    return largest;
}

/// Sets the inputs of the other plan to the inputs of this plan plus `step` times v.
void Plan::move_inputs(double step) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const Slot& slot = input_slots_[i];
        if (slot.from_domain || !slot.is_bound) continue;
        Column given = bare(inputs_[i]);
        given.rows = nullptr;  // a number per cloud is one row here
        const Column v = bare(tangents_->inputs[i].column);
        const Column at = tangents_->at[i].column;
        for_rows(slot.place, n_given_row(i), [&](const auto& part, int64_t n) {
            const Column to = part(at), from = part(given);
            const Column direction = v.data ? part(v) : v;
            for_numbers(from, n, [&](int64_t first, int64_t count, const double* x) {
                for (int64_t k = 0; k < count; ++k) store(to, first + k, x[k]);
            });
            if (!v.data) return;
            for_numbers(direction, n, [&](int64_t first, int64_t count, const double* change) {
                for (int64_t k = 0; k < count; ++k)
                    store(to, first + k, load(to, first + k) + step * change[k]);
            });
        });
    }
}

/// Adds `weight` times the outputs of the plan to the sums; is_first: the sums count as zero.
void Plan::add_result(double weight, bool is_first) {
    Tangents& t = *tangents_;
    for (size_t i = 0; i < outputs_.size(); ++i) {
        const kernels::Buffer<double>& numbers = t.result[i].memory;
        double* const sum = t.sum[i].memory.data();
        for (int64_t k = 0; k < numbers.size(); ++k)
            sum[k] = (is_first ? 0 : sum[k]) + weight * numbers.data()[k];
    }
}

/// Writes the sums over `step`, or NaN, to the bound arrays.
void Plan::write_tangents(double step, bool is_good) {
    Tangents& t = *tangents_;
    for (size_t i = 0; i < outputs_.size(); ++i) {
        const Slot& slot = output_slots_[i];
        if (!t.outputs[i].column.data || t.outputs[i].n_row != n_row(slot.place)) continue;
        const Column bound = bare(t.outputs[i].column);
        for_rows(slot.place, n_row(slot.place), [&](const auto& part, int64_t n) {
            const Column to = part(bound);
            if (!is_good) return fill_nan(std::span(&to, 1), n);
            for_numbers(part(t.sum[i].column), n,
                        [&](int64_t first, int64_t count, double* numbers) {
                            for (int64_t k = 0; k < count; ++k) numbers[k] /= step;
                            scatter(numbers, 1, 1, std::span(&to, 1), first, count);
                        });
        });
    }
}

namespace {

/// Runs a plan, or takes part in its exchanges if `problem` is set. Returns what went wrong first.
std::exception_ptr run_unless(const std::exception_ptr& problem, Plan& plan) {
    try {
        if (!problem) {
            plan.run();
            return nullptr;
        }
        try {
            std::rethrow_exception(problem);
        } catch (const Error& error) {
            plan.run_failed(error.status(), error.what());
        } catch (const std::bad_alloc&) {
            plan.run_failed(Status::no_memory, "no memory for tangents");
        }
    } catch (...) {
        return problem ? problem : std::current_exception();
    }
    return problem;
}

}  // namespace

void Plan::differentiate() {
    Tangents& t = *tangents_;
    std::exception_ptr problem;
    double largest = 0;
    try {
        for (const Slot& slot : input_slots_) require_bound(slot, true);
        for (size_t i = 0; i < inputs_.size(); ++i)
            require_gradient_row(t.inputs[i], input_slots_[i], true, "tangent");
        for (size_t i = 0; i < outputs_.size(); ++i)
            require_gradient_row(t.outputs[i], output_slots_[i], false, "tangent");
        require_finite(t.inputs, true, "tangent");
        connect_tangents();
        largest = largest_direction();
    } catch (...) {
        problem = std::current_exception();
    }
    context().comm().all_reduce_max(std::span(&largest, 1));
    const Stencil& stencil = options_.get("precision") == "fp64" ? in_double : in_single;
    const double step = largest > 0 ? stencil.step / largest : 1;
    for (int pair = 0; pair < stencil.n_pair; ++pair) {
        for (const double side : {1.0, -1.0}) {
            if (!problem) move_inputs(side * (pair + 1) * step);
            problem = run_unless(problem, *t.plan);
            if (!problem) add_result(side * stencil.weight[pair], pair == 0 && side > 0);
        }
    }
    write_tangents(step, !problem);
    if (problem) std::rethrow_exception(problem);
}

void Plan::run_tangent() {
    require_tangents();
    follow_if_behind();
    make_tangent_plan();
    agreed([&] { differentiate(); });
}

}  // namespace surrogate::impl
