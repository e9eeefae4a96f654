// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/mesh_plan.hpp"

#include <algorithm>
#include <cmath>

namespace surrogate::tool {

/// Returns the largest change over all ranks, so that the result is the same on all ranks.
MeshPlan::Change MeshPlan::change_to(const MeshSample& sample) const {
    const bool is_same = sample.x == x_ && sample.weights == weights_ && sample.clouds == clouds_ &&
                         sample.n_cloud() == n_cloud_;
    Change mine = is_same ? Change::none : Change::moved;
    if (!plan_ || sample.plan.is_float != is_float_ || sample.n_axis != n_axis_ ||
        sample.placement->has_ids() != has_ids_)
        mine = Change::other;
    const auto largest = static_cast<Change>(job_.max(static_cast<int64_t>(mine)));
    return largest == Change::moved && !sample.placement->can_move() ? Change::other : largest;
}

/// Null without weights, and on a rank without points.
const double* MeshPlan::weights() const {
    return weights_.empty() ? nullptr : weights_.data();
}

void MeshPlan::prepare(const MeshSample& sample, Change change) {
    if (change == Change::none) return;
    x_ = sample.x;
    weights_ = sample.weights;
    n_axis_ = sample.n_axis;
    clouds_ = sample.clouds;
    n_cloud_ = sample.n_cloud();
    is_float_ = sample.plan.is_float;
    has_ids_ = sample.placement->has_ids();
    if (change == Change::moved) {
        job_.agree([&] {
            sample.placement->move(*domain_, sample.x, sample.n_axis, weights(),
                                   sample.domain_clouds());
        });
        ++n_followed_;
        return;
    }
    plan_.reset();
    domain_.reset();
    job_.agree([&] {
        domain_.emplace(sample.placement->make_domain(context_, sample.x, sample.n_axis, weights(),
                                                      sample.domain_clouds()));
    });
    job_.agree([&] { plan_.emplace(model_, *domain_, options_); });
    ++n_made_;
}

template <class T>
void MeshPlan::bind(const MeshSample& sample, Arrays<T>& arrays) {
    const FieldPlan& fields = sample.plan;
    const int64_t n = sample.n();
    arrays.in.resize(fields.inputs.size());
    arrays.out.resize(fields.outputs.size());
    numbers_ = sample.numbers;
    of_clouds_.assign(places_.of_all.size(),
                      std::vector<double>(static_cast<size_t>(sample.n_cloud())));
    for (auto* lists : {&arrays.in, &arrays.out})
        for (std::vector<T>& values : *lists) values.resize(static_cast<size_t>(n));
    job_.agree([&] {
        for (size_t i = 0; i < arrays.in.size(); ++i)
            plan_->bind_input(fields.inputs[i].field.name, column(arrays.in[i].data(), n));
        for (size_t i = 0; i < arrays.out.size(); ++i)
            plan_->bind_output(fields.outputs[i].first.name, column(arrays.out[i].data(), n));
        for (size_t i = 0; i < numbers_.size(); ++i)
            plan_->bind_input(fields.numbers[i].field.name,
                              column(numbers_[i].data(), sample.n_cloud()));
        for (size_t i = 0; i < of_clouds_.size(); ++i)
            plan_->bind_output(places_.of_all[i].name,
                               column(of_clouds_[i].data(), sample.n_cloud()));
    });
}

template <class T>
Prediction MeshPlan::evaluate(const MeshSample& sample, Arrays<T>& arrays, bool is_bound) {
    if (!is_bound) bind(sample, arrays);
    for (size_t i = 0; i < arrays.in.size(); ++i)
        std::transform(sample.fields[i].begin(), sample.fields[i].end(), arrays.in[i].begin(),
                       [](double value) { return static_cast<T>(value); });
    for (size_t i = 0; i < numbers_.size(); ++i)
        std::copy(sample.numbers[i].begin(), sample.numbers[i].end(), numbers_[i].begin());
    job_.agree([&] { plan_->run(); });  // a rank that fails takes part in all exchanges of the run
    Prediction result;
    for (const auto& values : arrays.out)
        result.at_points.emplace_back(values.begin(), values.end());
    result.of_clouds = of_clouds_;
    return result;
}

Prediction MeshPlan::run(const MeshSample& sample,
                         const std::function<void(const std::string&)>& stage) {
    const Change change = change_to(sample);
    if (change != Change::none) stage("planning");
    prepare(sample, change);
    stage("evaluating the model");
    const bool is_bound = change == Change::none;
    return is_float_ ? evaluate(sample, floats_, is_bound) : evaluate(sample, doubles_, is_bound);
}

std::vector<double> MeshPlan::receptive_field(int64_t row) {
    const int64_t n = domain_->n_local();
    std::vector<std::vector<double>> of_outputs, of_inputs;
    for (const surrogate_field_info& output : places_.at_points) {
        of_outputs.emplace_back(static_cast<size_t>(n), 0.0);
        if (row >= 0) of_outputs.back()[static_cast<size_t>(row)] = 1 / output.std;
    }
    std::vector<double> deviations;
    job_.agree([&] {
        for (size_t i = 0; i < of_outputs.size(); ++i)
            plan_->bind_output_gradient(places_.at_points[i].name, column(of_outputs[i].data(), n));
        for (const surrogate_field_info& input : model_.inputs()) {
            if (input.role == SURROGATE_CLOUD) continue;
            of_inputs.emplace_back(static_cast<size_t>(n));
            deviations.push_back(input.std);
            plan_->bind_input_gradient(input.name, column(of_inputs.back().data(), n));
        }
    });
    job_.agree([&] { plan_->run_backward(); });
    std::vector<double> norms(static_cast<size_t>(n));
    for (size_t j = 0; j < norms.size(); ++j) {
        double sum = 0;
        for (size_t i = 0; i < of_inputs.size(); ++i)
            sum += std::pow(deviations[i] * of_inputs[i][j], 2);
        norms[j] = std::sqrt(sum);
    }
    return norms;
}

}  // namespace surrogate::tool
