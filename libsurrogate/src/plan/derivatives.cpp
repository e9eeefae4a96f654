// SPDX-License-Identifier: Apache-2.0
// Derivatives of predictions with respect to inputs: J^T w in physical units.
#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "libsurrogate/src/domain/array_axes.hpp"
#include "libsurrogate/src/domain/blocks.hpp"
#include "libsurrogate/src/domain/sphere_domain.hpp"
#include "libsurrogate/src/plan/plan.hpp"
#include "libsurrogate/src/ranks/exact_sum.hpp"

namespace surrogate::impl {

namespace {

/// Gradients by outputs that are not bound.
const double no_gradient = 0;

}  // namespace

/// Throws not_supported on devices.
void Plan::set_derivatives() {
    if (options_.get("gradients") != "inputs") return;
    if (wants_device(options_)) {
        throw Error(Status::not_supported,
                    "option 'gradients' is inputs with backend cuda, expected backend ref or simd; "
                    "derivatives are computed on the host");
    }
    if (!model_->weights() || inputs_.empty() || outputs_.empty()) {
        throw Error(Status::not_supported,
                    "option 'gradients' is inputs for a card without input or output fields, "
                    "expected a card that names them; derivatives are bound by name");
    }
    derivatives_ = std::make_unique<Derivatives>();
    derivatives_->outputs.resize(outputs_.size());
    derivatives_->doutputs.resize(outputs_.size());
    derivatives_->inputs.resize(inputs_.size());
    derivatives_->dinputs.resize(inputs_.size());
    tangents_ = std::make_unique<Tangents>();
    tangents_->inputs.resize(inputs_.size());
    tangents_->outputs.resize(outputs_.size());
    resize_derivatives();
}

/// After points have moved, and when the plan is made.
void Plan::resize_derivatives() {
    if (!derivatives_) return;
    const auto n_number = std::ranges::count(fields_, true, &FieldCard::is_cloud);
    derivatives_->by_point.resize(n_number * input_->n_local());
    derivatives_->bounds.resize(n_number);
    derivatives_->sums.resize(2 * n_number * input_->n_cloud());
    derivatives_->waits = false;
}

/// After every new execution. Local.
void Plan::add_weight_sums() {
    const bool are_left_out = execution_->gradients()->leaves_out_weights();
    derivatives_->weights.emplace(*model_->weights(), queue_.n_thread(),
                                  are_left_out ? GradientOrder::none : GradientOrder::real);
}

void Plan::require_derivatives() const {
    if (derivatives_) return;
    throw Error(Status::invalid_argument, "option 'gradients' is " + options_.get("gradients") +
                                              ", expected inputs; create the plan with "
                                              "gradients=inputs to differentiate predictions");
}

/// Throws not_supported for inputs without a derivative.
void Plan::require_differentiable(std::span<const size_t> inputs) const {
    const bool has_coordinates = execution_->gradients()->differentiates_coordinates();
    for (const size_t i : inputs) {
        const Slot& slot = input_slots_[i];
        const char* reason = nullptr;
        if (slot.kind == NumberKind::integer)
            reason = "' is whole numbers";
        else if (slot.is_optional)
            reason = "' is optional";
        else if (i < positions_.size() && !has_coordinates)
            reason = "' is a coordinate, by which this family has no derivative";
        else if (i >= positions_.size() &&
                 execution_->gradients()->is_class(static_cast<int64_t>(i - positions_.size())))
            reason = "' is a class";
        if (!reason) continue;
        throw Error(Status::not_supported, "input '" + slot.name + reason +
                                               ", expected an input with a derivative; bind the "
                                               "gradients of the others");
    }
}

void Plan::bind_gradient(const char* name, const char* unit, const surrogate_array* array,
                         bool is_input) {
    require_derivatives();
    if (is_input) require_differentiable(find_slots(name, true, true));
    const std::vector<size_t> found = checked_slots(name, unit, array, is_input, is_input);
    if (is_input) {
        require_distinct(axes_at(input_slots_[found.front()].place, *array),
                         "gradient of " + field_text(name, found, true));
    }
    std::vector<Derivatives::Bound>& bound =
        is_input ? derivatives_->inputs : derivatives_->outputs;
    for (size_t c = 0; c < found.size(); ++c)
        bound[found[c]] = {column_of(*array, static_cast<int64_t>(c)), array->shape[0]};
}

void Plan::bind_gradient(const char* name, const char* unit, const surrogate_block* block,
                         bool is_input) {
    require_derivatives();
    if (is_input) require_differentiable(find_slots(name, true, true));
    const size_t slot = checked_slot(name, unit, block, is_input, is_input);
    if (is_input)
        require_distinct(axes_of(*block), "gradient of " + field_text(name, {&slot, 1}, true));
    (is_input ? derivatives_->inputs : derivatives_->outputs)[slot] = {
        column_of(*block), n_row(slots(is_input)[slot].place)};
}

void Plan::bind_output_gradient(const char* name, const char* unit, const surrogate_array* w) {
    bind_gradient(name, unit, w, false);
}

void Plan::bind_input_gradient(const char* name, const char* unit, const surrogate_array* g) {
    bind_gradient(name, unit, g, true);
}

void Plan::bind_output_gradient(const char* name, const char* unit, const surrogate_block* w) {
    bind_gradient(name, unit, w, false);
}

void Plan::bind_input_gradient(const char* name, const char* unit, const surrogate_block* g) {
    bind_gradient(name, unit, g, true);
}

/// what: "gradient" or "tangent".
void Plan::require_gradient_row(const Derivatives::Bound& bound, const Slot& slot, bool is_input,
                                const char* what) const {
    const bool is_number = is_input && slot.place == PortPlace::clouds;
    const int64_t expected = is_number ? slot.n_row : n_row(slot.place);
    if (bound.n_row < 0 || bound.n_row == expected) return;
    throw Error(Status::shape, std::string("the ") + what + " of " +
                                   (is_input ? "input '" : "output '") + slot.name + "' has " +
                                   std::to_string(bound.n_row) + " rows, expected " +
                                   std::to_string(expected) + "; bind it again");
}

/// Throws shape unless all bound arrays have the rows of now.
void Plan::require_gradient_rows() const {
    for (size_t i = 0; i < outputs_.size(); ++i)
        require_gradient_row(derivatives_->outputs[i], output_slots_[i], false, "gradient");
    for (size_t i = 0; i < inputs_.size(); ++i)
        require_gradient_row(derivatives_->inputs[i], input_slots_[i], true, "gradient");
}

namespace {

/// Returns the first of n numbers of a column that is not finite; -1: there is none.
int64_t first_not_finite(const Column& column, int64_t n) {
    std::array<double, kernels::tile_points> values;
    Outside outside;  // the column has no range
    for (int64_t first = 0; first < n; first += kernels::tile_points) {
        const int64_t count = std::min(kernels::tile_points, n - first);
        const BadValue bad =
            gather(std::span(&column, 1), first, count, values.data(), 1, 1, &outside);
        if (bad.column >= 0) return bad.point;
    }
    return -1;
}

/// Returns the first number of a field of a grid that is not finite, or -1. Works row by row,
/// because the solver's memory may have gaps.
int64_t first_not_finite(const Column& column, const SphereDomain& grid) {
    for (int64_t row = 0; row < grid.own().n_row; ++row) {
        const int64_t n = grid.own().n_column;
        const int64_t bad = first_not_finite(grid.row_of(column, row), n);
        if (bad >= 0) return row * n + bad;
    }
    return -1;
}

}  // namespace

/// Throws not_finite unless all numbers of the bound arrays are finite. what: "gradient" or
/// "tangent".
void Plan::require_finite(std::span<const Derivatives::Bound> bound, bool is_input,
                          const char* what) const {
    for (size_t i = 0; i < bound.size(); ++i) {
        const Slot& slot = slots(is_input)[i];
        const auto* const grid = dynamic_cast<const SphereDomain*>(&domain_of(slot.place));
        const bool is_on_grid =
            grid && slot.place != PortPlace::clouds && slot.place != PortPlace::nodes;
        if (!bound[i].column.data) continue;
        const int64_t bad = is_on_grid ? first_not_finite(bound[i].column, *grid)
                                       : first_not_finite(bound[i].column, bound[i].n_row);
        if (bad < 0) continue;
        throw Error(Status::not_finite, std::string("the ") + what + " of " +
                                            (is_input ? "input '" : "output '") + slot.name +
                                            "' is not finite at " + row_text(slot.place, bad));
    }
}

/// Sets the columns of the network. A gradient by a number of the network is the gradient by
/// the physical number times its std.
void Plan::set_gradient_columns(bool has_rows) {
    Derivatives& d = *derivatives_;
    for (size_t i = 0; i < outputs_.size(); ++i) {
        const bool is_there = has_rows && d.outputs[i].column.data;
        d.doutputs[i] = is_there ? d.outputs[i].column : Column{};
        d.doutputs[i].std = 1 / outputs_[i].std;
        if (is_there) continue;
        d.doutputs[i].data = const_cast<double*>(&no_gradient);  // only read
        d.doutputs[i].stride = 0;
        d.doutputs[i].is_double = true;
    }
    double* by_point = d.by_point.data();
    for (size_t i = 0; i < inputs_.size(); ++i) {
        Column& column = d.dinputs[i] = {};
        if (is_per_cloud(i)) {
            column.data = by_point;
            column.is_double = true;
            by_point += input_->n_local();
        } else if (has_rows) {
            column = d.inputs[i].column;
        }
        column.std = 1 / inputs_[i].std;
    }
}

/// Adds the derivatives with respect to numbers per cloud over the points of all ranks, in no
/// order. Returns false if one of any rank is not finite; on all ranks if there are such inputs.
/// Collective.
bool Plan::add_numbers(bool is_finite) {
    Derivatives& d = *derivatives_;
    if (d.bounds.size() == 0) return is_finite;
    const int64_t n = input_->n_local(), n_cloud = input_->n_cloud();
    const auto* const points = dynamic_cast<const PointDomain*>(input_.get());
    const int64_t* const clouds = points && points->has_clouds() ? points->clouds() : nullptr;
    for (int64_t k = 0; k < d.bounds.size(); ++k) {
        d.bounds[k] = is_finite ? 0 : std::numeric_limits<double>::infinity();
        for (int64_t i = 0; is_finite && i < n; ++i)
            d.bounds[k] = std::max(d.bounds[k], std::abs(d.by_point[k * n + i]));
    }
    context().comm().all_reduce_max(std::span(d.bounds.begin(), d.bounds.end()));
    std::ranges::fill(d.sums, 0);
    if (!std::ranges::all_of(d.bounds, [](double bound) { return std::isfinite(bound); }))
        is_finite = false;
    for (int64_t k = 0; is_finite && k < d.bounds.size(); ++k) {
        const ExactGrid grid(std::max<int64_t>(1, input_->n_global()), d.bounds[k]);
        for (int64_t i = 0; i < n; ++i) {
            const int64_t cloud = clouds ? clouds[i] : 0;
            grid.add(d.by_point[k * n + i], d.sums.data() + 2 * (k * n_cloud + cloud), 1);
        }
    }
    context().comm().all_reduce_sum(std::span(d.sums.begin(), d.sums.end()));
    return is_finite;
}

/// Writes the sums of add_numbers() to the bound arrays; one number for all clouds is their sum.
void Plan::write_numbers(bool is_finite) {
    Derivatives& d = *derivatives_;
    const int64_t n_cloud = input_->n_cloud();
    int64_t k = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
        if (!is_per_cloud(i)) continue;
        const Derivatives::Bound& bound = d.inputs[i];
        for (int64_t row = 0; row < bound.n_row; ++row) {
            double value = std::numeric_limits<double>::quiet_NaN();
            if (is_finite) {
                int64_t sum[] = {0, 0};
                const int64_t end = bound.n_row == 1 ? n_cloud : row + 1;
                for (int64_t cloud = row; cloud < end; ++cloud) {
                    for (int64_t limb = 0; limb < 2; ++limb)
                        sum[limb] += d.sums[2 * (k * n_cloud + cloud) + limb];
                }
                value =
                    ExactGrid(std::max<int64_t>(1, input_->n_global()), d.bounds[k]).value(sum, 1);
            }
            store(bound.column, row, value);
        }
        ++k;
    }
}

void Plan::go_back() {
    Derivatives& d = *derivatives_;
    std::exception_ptr problem;
    bool has_rows = false;
    try {
        require_gradient_rows();
        has_rows = true;
        require_finite(d.outputs, false, "gradient");
    } catch (...) {
        problem = std::current_exception();
    }
    set_gradient_columns(has_rows);
    GradientProgram& program = *execution_->gradients();
    const size_t n_skip = program.differentiates_coordinates() ? 0 : positions_.size();
    context().comm().reset_counters();
    const Execution::Traffic before = traffic();
    d.weights->clear();
    const bool alive = !problem && d.is_good;
    bool is_finite =
        program.backward(d.doutputs, std::span(d.dinputs).subspan(n_skip), alive, *d.weights);
    is_finite = add_numbers(alive && is_finite);
    if (has_rows) write_numbers(is_finite);
    const Execution::Traffic after = traffic();
    bytes_sent_ = after.bytes - before.bytes;
    n_collective_ = after.collectives - before.collectives;
    if (problem) std::rethrow_exception(problem);
    if (options_.get("check_finite") == "false") return;
    if (!is_finite) {
        throw EchoedError(Status::not_finite,
                          "non-finite values in the run, from another rank or inside the network; "
                          "all derivatives are NaN. See the error of the failed rank, or set "
                          "agree=true");
    }
    require_finite(d.inputs, true, "gradient");
}

void Plan::run_backward() {
    require_derivatives();
    if (is_behind()) {
        throw Error(Status::invalid_argument,
                    "the points have moved since the last run, expected the points of a run; call "
                    "surrogate_plan_run again");
    }
    if (!std::exchange(derivatives_->waits, false)) {
        throw Error(Status::invalid_argument,
                    "the number of runs since the last backward run is 0, expected at least 1; "
                    "call surrogate_plan_run first");
    }
    if (agrees_)
        context().comm().agree([&] { go_back(); });
    else
        go_back();
}

}  // namespace surrogate::impl
