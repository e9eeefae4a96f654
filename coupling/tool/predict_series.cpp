// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/predict_series.hpp"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "coupling/job/output.hpp"
#include "coupling/job/text_hash.hpp"
#include "coupling/tool/predict_target.hpp"
#include "coupling/tool/predictor.hpp"
#include "coupling/tool/series_output.hpp"
#include "coupling/vtk/disk.hpp"

namespace surrogate::tool {

namespace {

using vtk::SeriesStep;

/// Returns the properties that must be the same for all steps of a series, as a text.
std::string fingerprint_of(const Model& model, const PredictArguments& arguments) {
    nlohmann::json fingerprint = {{"model", hex(model.hash())},
                                  {"at", arguments.at},
                                  {"ignore_units", arguments.ignore_units},
                                  {"maps", arguments.maps},
                                  {"options", arguments.options}};
    if (arguments.logits) fingerprint["logits"] = true;
    if (!arguments.clouds.empty()) fingerprint["clouds"] = arguments.clouds;
    if (!arguments.numbers.empty()) fingerprint["numbers"] = arguments.numbers;
    if (!arguments.weights.empty()) fingerprint["weights"] = arguments.weights;
    return fingerprint.dump(2, ' ', true) + "\n";
}

std::string time_text(double time_s) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", time_s);
    return text;
}

/// Runs one step, from its mesh to its file in the series. Adds its points by class to `counts`.
/// Collective.
void run_step(const Job& job, const PredictArguments& arguments, Predictor& predictor,
              const SeriesStep& step, size_t i, std::optional<SeriesOutput>& output,
              std::vector<int64_t>& counts) {
    const std::string when = "time " + time_text(step.time_s) + ": ";
    const bool has_meshes = !predictor.places().at_points.empty();
    Target target;
    if (has_meshes) {
        std::string file;
        job.agree([&] {
            if (job.is_root()) file = output->begin_step(i, step.file);
        });
        PredictArguments one = arguments;
        one.mesh = step.file;
        one.out = job.broadcast(file);
        one.overwrite = true;  // files of this step from a killed program
        target = find_target(job, one);
    }
    const auto result = predictor.run(step.file, target, when, nullptr);
    job.agree([&] {
        if (job.is_root() && has_meshes) output->end_step(step.time_s, target.out);
    });
    predictor.print_of_clouds(result, when);
    counts.resize(result.class_counts.size());
    for (size_t c = 0; c < counts.size(); ++c) counts[c] += result.class_counts[c];
}

/// Returns the failure of a step, with the step in its text.
Failure failure_of(const PredictArguments& arguments, const std::vector<SeriesStep>& steps,
                   size_t i, size_t n_done, const Failure& failure) {
    std::string text = "step " + std::to_string(i + 1) + " of " + std::to_string(steps.size()) +
                       ", time " + time_text(steps[i].time_s) + ", '" + steps[i].file +
                       "': " + failure.what();
    if (n_done > 0)
        text += "\n'" + arguments.out + "' has the " + std::to_string(n_done) +
                (n_done == 1 ? " step" : " steps") + " before it; --resume continues after them";
    return Failure(failure.status(), text);
}

std::string summary(const MeshPlan& plan, size_t n_step) {
    const auto times = [](int64_t n) {
        return n == 1 ? std::string("once") : std::to_string(n) + " times";
    };
    std::string text = std::to_string(n_step) + (n_step == 1 ? " step" : " steps") + ", planned " +
                       times(plan.n_made());
    if (plan.n_followed() > 0) text += ", points followed " + times(plan.n_followed());
    return text;
}

}  // namespace

bool is_series(const PredictArguments& arguments) {
    return vtk::extension_of(arguments.mesh) == ".pvd" ||
           vtk::extension_of(arguments.out) == ".pvd";
}

void predict_series(Job& job, const PredictArguments& arguments) {
    const Options options = checked_options(arguments);
    if (has_probes(arguments))
        throw Failure(Exit::bad_usage, "--at is the mesh '" + arguments.at +
                                           "', expected points or cells for a series (.pvd)");
    const std::vector<SeriesStep> steps = read_series(job, arguments);
    Progress progress(static_cast<int>(steps.size()) + 1, arguments.quiet || !job.is_root());
    progress.stage("reading the model");
    Predictor predictor(job, arguments, options);
    const std::string fingerprint = fingerprint_of(predictor.model(), arguments);
    std::unique_ptr<file::FileLock> lock;
    if (!predictor.places().at_points.empty()) lock = lock_output(job, arguments);
    std::optional<SeriesOutput> output;
    int64_t n_done = 0;
    job.agree([&] {
        if (!job.is_root() || predictor.places().at_points.empty()) return;
        output.emplace(arguments, steps, fingerprint);
        n_done = static_cast<int64_t>(output->n_done());
    });
    const auto first = static_cast<size_t>(job.max(n_done));
    std::vector<int64_t> counts;
    for (size_t i = first; i < steps.size(); ++i) {
        progress.stage("step " + std::to_string(i + 1) + " of " + std::to_string(steps.size()) +
                       ", time " + time_text(steps[i].time_s));
        try {
            run_step(job, arguments, predictor, steps[i], i, output, counts);
        } catch (const Failure& failure) {
            progress.erase();
            throw failure_of(arguments, steps, i, predictor.places().at_points.empty() ? 0 : i,
                             failure);
        }
    }
    progress.finish();
    const std::string points = counts.empty() ? "" : predictor.counts_text(counts);
    if (!job.is_root() || arguments.quiet) return;
    if (!points.empty()) print("points of each class in these steps: " + points + "\n");
    if (first > 0)
        print(std::to_string(first) + (first == 1 ? " step was" : " steps were") +
              " there already\n");
    print(summary(predictor.plan(), steps.size() - first) + "\n" +
          (output ? "wrote " + arguments.out
                  : "no output of the model is at points: " + arguments.out + " is not written") +
          "\n");
}

}  // namespace surrogate::tool
