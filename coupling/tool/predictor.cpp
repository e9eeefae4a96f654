// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/predictor.hpp"

#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/tool/mesh_output.hpp"

namespace surrogate::tool {

namespace {

/// Prints a line for each input outside the range of the training data, also with --quiet.
void check_ranges(const Job& job, bool is_strict, const MeshSample& sample,
                  const std::vector<RangeCount>& counts, const std::string& when) {
    bool is_outside = false;
    for (const RangeCount& count : counts) {
        if (count.n_outside == 0) continue;
        is_outside = true;
        if (job.is_root()) print_error("warning: " + when + count.warning(sample.word()));
    }
    if (is_outside && is_strict)
        throw Failure(Exit::not_passed,
                      "inputs are outside the range of the training data, and --strict was given: "
                      "nothing was computed, nothing is written");
}

}  // namespace

Options checked_options(const PredictArguments& arguments) {
    if (!arguments.at.empty() && arguments.at != "points" && arguments.at != "cells")
        throw Failure(Exit::bad_usage, "--at is '" + arguments.at + "', expected points or cells");
    if (!vtk::compression_of(arguments.compress))
        throw Failure(Exit::bad_usage,
                      "--compress is '" + arguments.compress + "', expected none, zlib or lz4");
    for (size_t i = 0; i < arguments.maps.size(); ++i)
        for (size_t k = 0; k < i; ++k)
            if (arguments.maps[i].first == arguments.maps[k].first)
                throw Failure(Exit::bad_usage, "--map " + arguments.maps[i].first +
                                                   "=.. is given twice, as '" +
                                                   arguments.maps[k].second + "' and '" +
                                                   arguments.maps[i].second + "'");
    Options options;
    try {
        for (const auto& [key, value] : arguments.options) options.set(key, value);
    } catch (const Error& error) {
        throw Failure(Exit::bad_usage, error.what());
    }
    return options;
}

Predictor::Predictor(const Job& job, const PredictArguments& arguments, const Options& options)
    : job_(job), arguments_(arguments) {
    job.agree([&] {
        context_.emplace(job.make_context());
        model_.emplace(*context_, arguments.model);
    });
    places_ = output_places(*model_);
    check_maps(arguments.maps, model_->inputs(), places_.at_points);
    plan_.emplace(job, *context_, *model_, places_, options);
}

Predictor::Result Predictor::run(const std::string& mesh, const Target& target,
                                 const std::string& when, Progress* progress) {
    const auto stage = [&](const std::string& text) {
        if (progress != nullptr) progress->stage(text);
    };
    const FieldRequest request{mesh, arguments_.maps, arguments_.at, arguments_.ignore_units};
    Result result{read_mesh_sample(job_, request, *model_, places_, stage), {}, {}};
    const MeshSample& sample = result.sample;
    result.ranges = count_ranges(job_, model_->inputs(), sample.x, sample.n_axis, sample.fields);
    if (progress != nullptr) progress->erase();
    check_ranges(job_, arguments_.strict, sample, result.ranges, when);

    Prediction evaluated = plan_->run(sample, stage);
    result.of_all = std::move(evaluated.of_all);
    std::vector<std::vector<double>> outputs;
    for (const auto& values : evaluated.at_points)
        outputs.push_back(sample.placement->spread(job_, values));
    stage("writing the mesh");
    if (!places_.at_points.empty())
        write_mesh(job_, mesh, target, *result.sample.mesh, sample.plan, outputs,
                   *vtk::compression_of(arguments_.compress));
    return result;
}

void Predictor::print_of_all(const std::vector<double>& values, const std::string& when) const {
    if (!job_.is_root()) return;
    for (size_t i = 0; i < values.size(); ++i) {
        const std::string unit = places_.of_all[i].unit;
        print(when + one_line(places_.of_all[i].name) + " = " + number(values[i]) +
              (unit.empty() ? "" : " " + one_line(unit)) + "\n");
    }
}

}  // namespace surrogate::tool
