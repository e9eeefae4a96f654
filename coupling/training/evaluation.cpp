// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coupling/job/weighted_model.hpp"

namespace surrogate::tool {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Sums over the points of all ranks for one output: w, w |e|, w e^2, w target^2.
constexpr size_t n_sum = 4;
/// Sums over the points of a row of the sphere: 1, |e|, e^2.
constexpr size_t n_row_sum = 3;

}  // namespace

double SampleErrors::worst() const {
    double worst = nan;
    for (const OutputErrors& output : outputs)
        if (!(output.relative_l2 <= worst) && !std::isnan(output.relative_l2))
            worst = output.relative_l2;
    return worst;
}

ModelRuns::ModelRuns(const Job& job, const Context& context, const Model& model,
                     const TrainData& data, const ModelChannels& channels, const Options& options)
    : job_(job),
      data_(data),
      channels_(channels),
      domain_(data, job.rank(), job.size(), uses_point_weights(model)),
      inputs_(channels.inputs) {
    const Pair& first = data.training().front();
    job_.agree([&] { domain_.read(first); });
    job_.agree([&] { domain_.create(context, first); });
    plan_.emplace(model, domain_.domain(), options);
    predictions_.resize(channels_.outputs.size());
    for (const Channel& channel : channels_.inputs) outside_.push_back({channel.name});
}

/// Binds the arrays of the sample. Local.
void ModelRuns::bind() {
    const int64_t n = channels_.is_pooled() ? domain_.n_clouds() : domain_.n();
    inputs_.bind(&*plan_, domain_);
    for (size_t i = 0; i < predictions_.size(); ++i) {
        predictions_[i].resize(static_cast<size_t>(n));
        plan_->bind_output(channels_.outputs[i].name, column(predictions_[i].data(), n),
                           channels_.outputs[i].unit.c_str());
    }
}

void ModelRuns::evaluate(const Pair& pair, const std::function<void()>& read_targets) {
    const std::vector<Draw> draws = {Draw{&pair}};
    const bool is_other = domain_.is_other(draws);
    job_.agree([&] {
        if (is_other) domain_.read(draws);
        inputs_.read(data_.file(pair.file), pair.input, {}, domain_);
        domain_.read_weights(draws);
        read_targets();
    });
    job_.agree([&] {
        if (is_other) domain_.update();
    });
    job_.agree([&] { bind(); });
    job_.agree([&] { plan_->run(); });
}

void ModelRuns::count_outside() {
    for (size_t i = 0; i < outside_.size(); ++i) {
        surrogate_range_info info{};
        check(surrogate_plan_range(plan_->get(), static_cast<int32_t>(i), &info));
        outside_[i].n_value += info.n_points;
        outside_[i].n_outside += info.n_outside;
    }
}

void ModelRuns::finish_counts() {
    for (OutsideCount& count : outside_) {
        count.n_value = job_.sum(count.n_value);
        count.n_outside = job_.sum(count.n_outside);
    }
}

std::vector<double> ModelRuns::gather_points(const Pair& pair) const {
    std::vector<double> points;
    job_.agree([&] {
        if (data_.form().points != dataset::PointForm::sphere)
            points = read_points(data_.file(pair.file), pair.input, domain_.range());
    });
    return job_.gather(points);
}

FieldEvaluation::FieldEvaluation(const Job& job, const Context& context, const Model& model,
                                 const TrainData& data, const ModelChannels& channels,
                                 const Options& options)
    : job_(job),
      context_(context),
      data_(data),
      channels_(channels),
      runs_(job, context, model, data, channels, options),
      targets_(channels.outputs.size()) {
    if (!is_sphere()) return;
    rows_.resize(targets_.size() * static_cast<size_t>(data_.form().extents[0]) * n_row_sum);
}

bool FieldEvaluation::is_sphere() const {
    return data_.form().points == dataset::PointForm::sphere;
}

/// Fills predictions and targets of a pair.
void FieldEvaluation::evaluate(const Pair& pair) {
    runs_.evaluate(pair, [&] {
        for (size_t i = 0; i < targets_.size(); ++i)
            targets_[i] = read_range(data_.file(pair.file), channels_.outputs[i].stored,
                                     pair.target, {}, runs_.domain().range());
    });
}

/// Adds the errors of the evaluated sample.
void FieldEvaluation::measure(size_t index) {
    const size_t n_output = targets_.size();
    std::vector<double> sums(n_sum * n_output), largest(n_output);
    for (size_t o = 0; o < n_output; ++o) {
        double* const sum = sums.data() + n_sum * o;
        for (size_t i = 0; i < targets_[o].size(); ++i) {
            const double w = runs_.weight(i);
            if (w == 0) continue;
            const double target = targets_[o][i], e = runs_.predictions()[o][i] - target;
            sum[0] += w;
            sum[1] += w * std::abs(e);
            sum[2] += w * e * e;
            sum[3] += w * target * target;
            largest[o] = std::max(largest[o], std::abs(e));
        }
    }
    context_.reduce(SURROGATE_SUM, std::ssize(sums), sums.data());
    context_.reduce(SURROGATE_MAX, std::ssize(largest), largest.data());
    SampleErrors errors{index, {}};
    for (size_t o = 0; o < n_output; ++o) {
        const double* const sum = sums.data() + n_sum * o;
        errors.outputs.push_back(
            {sum[0] > 0 ? sum[1] / sum[0] : nan, sum[0] > 0 ? std::sqrt(sum[2] / sum[0]) : nan,
             sum[3] > 0 ? std::sqrt(sum[2]) / std::sqrt(sum[3]) : nan, largest[o]});
    }
    samples_.push_back(std::move(errors));
}

/// Adds the errors of this rank's rows of the sphere. Local.
void FieldEvaluation::add_latitudes() {
    const auto& extents = data_.form().extents;
    const auto n_lat = static_cast<size_t>(extents[0]), n_lon = static_cast<size_t>(extents[1]);
    const auto first = static_cast<size_t>(runs_.domain().range().first);
    for (size_t o = 0; o < targets_.size(); ++o) {
        for (size_t i = 0; i < targets_[o].size(); ++i) {
            if (runs_.weight(i) == 0) continue;
            double* const row = rows_.data() + n_row_sum * (o * n_lat + (first + i) / n_lon);
            const double e = runs_.predictions()[o][i] - targets_[o][i];
            row[0] += 1;
            row[1] += std::abs(e);
            row[2] += e * e;
        }
    }
}

void FieldEvaluation::run() {
    const auto& pairs = data_.training();
    for (size_t index = 0; index < pairs.size(); ++index) {
        evaluate(pairs[index]);
        measure(index);
        if (is_sphere()) add_latitudes();
        runs_.count_outside();
    }
    runs_.finish_counts();
    if (is_sphere()) context_.reduce(SURROGATE_SUM, std::ssize(rows_), rows_.data());
}

std::vector<OutputErrors> FieldEvaluation::total() const {
    std::vector<OutputErrors> total(targets_.size());
    for (size_t o = 0; o < total.size(); ++o) {
        int64_t n_relative = 0;
        for (const SampleErrors& sample : samples_) {
            const OutputErrors& found = sample.outputs[o];
            total[o].l1 += found.l1;
            total[o].l2 += found.l2 * found.l2;
            total[o].max = std::max(total[o].max, found.max);
            if (std::isnan(found.relative_l2)) continue;
            total[o].relative_l2 += found.relative_l2;
            ++n_relative;
        }
        const auto n = static_cast<double>(samples_.size());
        total[o].l1 /= n;
        total[o].l2 = std::sqrt(total[o].l2 / n);
        total[o].relative_l2 =
            n_relative > 0 ? total[o].relative_l2 / static_cast<double>(n_relative) : nan;
    }
    return total;
}

size_t FieldEvaluation::worst_sample() const {
    size_t worst = 0;
    for (size_t i = 1; i < samples_.size(); ++i) {
        const double error = samples_[i].worst(), largest = samples_[worst].worst();
        if (error > largest || (std::isnan(largest) && !std::isnan(error))) worst = i;
    }
    return worst;
}

std::vector<std::vector<LatitudeErrors>> FieldEvaluation::latitudes() const {
    if (!is_sphere()) return {};
    const auto& form = data_.form();
    const auto n_lat = static_cast<size_t>(form.extents[0]);
    const std::vector<double> latitude = data_.file(0).along("lat");
    std::vector<std::vector<LatitudeErrors>> outputs(targets_.size());
    for (size_t o = 0; o < outputs.size(); ++o) {
        for (size_t row = 0; row < n_lat; ++row) {
            const double* const sum = rows_.data() + n_row_sum * (o * n_lat + row);
            outputs[o].push_back({latitude[row], sum[1] / sum[0], std::sqrt(sum[2] / sum[0])});
        }
    }
    return outputs;
}

GatheredSample FieldEvaluation::gather(size_t index) {
    const Pair& pair = data_.training()[index];
    evaluate(pair);
    GatheredSample sample;
    sample.points = runs_.gather_points(pair);
    for (size_t o = 0; o < targets_.size(); ++o) {
        sample.predictions.push_back(job_.gather(runs_.predictions()[o]));
        sample.targets.push_back(job_.gather(targets_[o]));
    }
    return sample;
}

}  // namespace surrogate::tool
