// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/predict.hpp"

#include "coupling/job/output.hpp"
#include "coupling/job/process_memory.hpp"
#include "coupling/job/text.hpp"
#include "coupling/tool/predict_series.hpp"
#include "coupling/tool/predictor.hpp"
#include "coupling/vtk/disk.hpp"

namespace surrogate::tool {

namespace {

bool is_location(const std::string& at) {
    return at.empty() || at == "points" || at == "cells";
}

void say(const Job& job, const PredictArguments& arguments, const std::string& text) {
    if (job.is_root() && !arguments.quiet) print(text + "\n");
}

/// Returns a text such as "mobility [m^2/(Pa s)]" for fields whose arrays have no unit to compare.
std::string fields_without_unit(const FieldPlan& plan) {
    std::string list;
    for (const FieldSource& source : plan.inputs) {
        const std::string unit = source.field.unit;
        if (unit.empty() || !source.array.unit.empty()) continue;
        list += (list.empty() ? "" : ", ") + std::string(source.field.name) + " [" + unit + "]";
    }
    return list;
}

void report(const Job& job, const PredictArguments& arguments, const MeshSample& sample) {
    const FieldPlan& plan = sample.plan;
    const Placement& rows = *sample.placement;
    const char* what = sample.word();
    const int64_t n_held = job.sum(sample.mesh->n_rows(plan.location));
    const int64_t n_points = job.sum(sample.n());
    const int64_t largest = job.max(sample.n());
    say(job, arguments,
        arguments.mesh + ": " + std::to_string(n_points) + " " + what + " on " +
            std::to_string(job.size()) + (job.size() == 1 ? " rank" : " ranks, at most ") +
            (job.size() == 1 ? "" : std::to_string(largest) + " on one"));
    if (n_held > n_points)
        say(job, arguments,
            "  " + std::to_string(n_held - n_points) +
                " copies (pieces share them, ghosts, a closed seam) counted once");
    if (rows.n_split() > 0)
        say(job, arguments,
            "  " + std::to_string(rows.n_split()) +
                " of them have equal coordinates and different values: separate points; global ids "
                "in the mesh would identify them");
    say(job, arguments,
        "  memory: at most " + bytes(static_cast<double>(job.max(peak_memory()))) + " on a rank");
    if (plan.other_would_do)
        say(job, arguments, "  evaluated at points; --at cells is possible, too");
    if (const std::string fields = fields_without_unit(plan); !fields.empty())
        say(job, arguments,
            "  arrays without a unit, taken as they are: " + fields +
                " (with one, as the array's UNITS_LABEL, it would be compared)");
}

void predict_mesh(Job& job, const PredictArguments& arguments) {
    Progress progress(6, arguments.quiet || !job.is_root());
    const Options options = checked_options(arguments);  // the same on all ranks
    if (arguments.resume)
        throw Failure(Exit::bad_usage,
                      "--resume continues a series (.pvd), '" + arguments.mesh + "' is one mesh");
    const auto lock = lock_output(job, arguments);
    const Target target = find_target(job, arguments);
    progress.stage("reading the model");
    Predictor predictor(job, arguments, options);
    const auto result = predictor.run(arguments.mesh, target, "", &progress);
    progress.finish();
    report(job, arguments, result.sample);
    if (result.probes)
        say(job, arguments,
            arguments.at + ": " + std::to_string(job.sum(result.probes->n())) + " " +
                result.probes->word() + " of weight 0, which do not influence others");
    if (predictor.has_class_array())
        say(job, arguments, "points of each class: " + predictor.counts_text(result.class_counts));
    if (!result.ranges.empty())
        say(job, arguments,
            "share of points outside the training data:\n" + range_table(result.ranges));
    predictor.print_of_clouds(result, "");
    say(job, arguments,
        predictor.places().at_points.empty()
            ? "no output of the model is at points: " + arguments.out + " is not written"
            : "wrote " + arguments.out);
}

}  // namespace

bool has_probes(const PredictArguments& arguments) {
    return !is_location(arguments.at);
}

const std::string& written_mesh(const PredictArguments& arguments) {
    return has_probes(arguments) ? arguments.at : arguments.mesh;
}

void predict(Job& job, const PredictArguments& arguments) {
    if (is_series(arguments))
        predict_series(job, arguments);
    else
        predict_mesh(job, arguments);
}

}  // namespace surrogate::tool
