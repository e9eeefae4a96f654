// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/job/weighted_model.hpp"
#include "coupling/mesh/read_mesh.hpp"
#include "coupling/tool/class_output.hpp"

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

/// Returns the index of the point that is nearest to `x`, on the rank that has it, else -1.
/// Collective.
int64_t nearest_point(const Job& job, const MeshSample& sample, const std::vector<double>& x) {
    const auto n_axis = static_cast<size_t>(sample.n_axis);
    double least = std::numeric_limits<double>::infinity();
    int64_t nearest = -1;
    for (int64_t i = 0; i < sample.n(); ++i) {
        double distance = 0;
        for (size_t a = 0; a < std::min(n_axis, x.size()); ++a)
            distance += std::pow(sample.x[static_cast<size_t>(i) * n_axis + a] - x[a], 2);
        if (distance < least) nearest = i;
        least = std::min(least, distance);
    }
    const bool is_least = least == -job.max(-least);
    const int64_t owner = -job.max(static_cast<int64_t>(is_least ? -job.rank() : -job.size()));
    return owner == job.rank() ? nearest : -1;
}

/// Returns the index of the point with this row in the mesh file, or of the point that stands for
/// it, on the rank that has it, else -1. Collective.
int64_t point_of_row(const Job& job, const MeshSample& sample, int64_t row) {
    // A number for every evaluated point, which tells its rank and its index there.
    std::vector<double> numbers(static_cast<size_t>(sample.n()));
    for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<double>(i) * job.size() + job.rank();
    const std::vector<double> of_rows = sample.placement->spread(job, numbers);
    const std::vector<int64_t> rows = rows_in_file(job, *sample.mesh, sample.plan.location);
    double found = -1;
    for (size_t i = 0; i < rows.size(); ++i)
        if (rows[i] == row && of_rows[i] >= 0) found = of_rows[i];  // NaN in hidden rows
    const auto number = static_cast<int64_t>(job.max(found));
    if (number < 0) {
        const int64_t last = job.max(rows.empty() ? int64_t{-1} : std::ranges::max(rows));
        fail("--receptive-field is " + std::to_string(row) + ", expected the id of one of the " +
             sample.word() + ", 0 to " + std::to_string(last) + ", that is not hidden");
    }
    return number % job.size() == job.rank() ? number / job.size() : -1;
}

/// Returns the index of the point that --receptive-field selects by its id or by a location.
int64_t selected_point(const Job& job, const MeshSample& sample, const std::vector<double>& where) {
    if (where.size() > 1) return nearest_point(job, sample, where);
    return point_of_row(job, sample, static_cast<int64_t>(where[0]));
}

FieldRequest request_of(const PredictArguments& arguments) {
    return {arguments.mesh,    arguments.maps,    arguments.at,    arguments.ignore_units,
            arguments.weights, arguments.numbers, arguments.clouds};
}

}  // namespace

Options checked_options(const PredictArguments& arguments) {
    if (has_probes(arguments) && !is_mesh_name(arguments.at))
        throw Failure(Exit::bad_usage, "--at is '" + arguments.at +
                                           "', expected points, cells or a mesh (.vtu, .vti, "
                                           ".vtp, .vts or their parallel forms)");
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
    if (!arguments.receptive_field.empty()) {
        if (has_probes(arguments))
            throw Failure(Exit::bad_usage, "--receptive-field is given, and --at is the mesh '" +
                                               arguments.at + "'; leave one of them out");
        const double id = arguments.receptive_field[0];
        if (arguments.receptive_field.size() == 1 &&
            !(id >= 0 && id < 1e15 && id == std::floor(id)))
            throw Failure(Exit::bad_usage,
                          "--receptive-field is one number, expected the id of a "
                          "point, which is an integer from 0 on, or a location "
                          "X,Y or X,Y,Z");
        options.set("gradients", "inputs");
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
    check_numbers(request_of(arguments), model_->inputs());
    check_class_output(places_, arguments.maps, arguments.logits);
    check_weights();
    plan_.emplace(job, *context_, *model_, places_, options);
}

/// Rejects weights and probe points for a model that does not use weights, and a model that does
/// without them.
void Predictor::check_weights() const {
    const bool is_weighted = uses_point_weights(*model_), has_weights = !arguments_.weights.empty();
    const char* const needs = "; it needs a FLARE trained with network.point_weights = true";
    if (has_probes(arguments_) && !is_weighted)
        throw Failure(Exit::bad_usage,
                      "--at is the mesh '" + arguments_.at +
                          "', and the model has no weights of points, so that the points of a "
                          "second mesh would influence the prediction" +
                          needs);
    if (has_probes(arguments_) && !arguments_.clouds.empty())
        throw Failure(Exit::bad_usage,
                      "--clouds is '" + arguments_.clouds + "', and --at is the mesh '" +
                          arguments_.at +
                          "', whose points are in the cloud of the first mesh; leave --clouds out");
    if (has_weights && !is_weighted)
        throw Failure(Exit::bad_usage, "--weights is '" + arguments_.weights +
                                           "', and the model has no weights of points" + needs);
    if (!has_weights && is_weighted)
        throw Failure(Exit::bad_usage,
                      "the model weights its points, and --weights is missing; name the array of "
                      "the mesh with their areas or volumes");
}

/// Reads the second mesh. Numbers per cloud come from the first.
MeshSample Predictor::read_probes(FieldRequest request, const MeshSample& first,
                                  const std::function<void(const std::string&)>& stage) const {
    request.mesh = arguments_.at;
    request.weights = "";
    request.numbers.clear();
    for (size_t i = 0; i < first.numbers.size(); ++i)
        request.numbers.emplace_back(first.plan.numbers[i].field.name, first.numbers[i][0]);
    return read_mesh_sample(job_, request, *model_, places_, stage);
}

Predictor::Result Predictor::run(const std::string& mesh, const Target& target,
                                 const std::string& when, Progress* progress) {
    const auto stage = [&](const std::string& text) {
        if (progress != nullptr) progress->stage(text);
    };
    const bool is_probing = has_probes(arguments_);
    FieldRequest request = request_of(arguments_);
    request.mesh = mesh;
    if (is_probing) request.at = "";
    Result result{read_mesh_sample(job_, request, *model_, places_, stage), {}, {}, {}, {}};
    std::optional<MeshSample> both;
    if (is_probing) {
        result.probes.emplace(read_probes(request, result.sample, stage));
        both.emplace(join_samples(result.sample, *result.probes));
    }
    const MeshSample& sample = both ? *both : result.sample;
    const MeshSample& written = result.probes ? *result.probes : result.sample;
    result.ranges = count_ranges(job_, model_->inputs(), sample.x, sample.n_axis, sample.fields,
                                 sample.numbers, sample.clouds);
    if (progress != nullptr) progress->erase();
    check_ranges(job_, arguments_.strict, result.sample, result.ranges, when);

    Prediction evaluated = plan_->run(sample, stage);
    std::vector<double> influence;
    if (!arguments_.receptive_field.empty())
        influence =
            plan_->receptive_field(selected_point(job_, sample, arguments_.receptive_field));
    for (std::vector<double>& values : evaluated.at_points)
        values.erase(values.begin(), values.end() - written.n());
    if (has_class_array() && returns_probability(*model_)) make_logits(&evaluated.at_points[0]);
    result.of_clouds = std::move(evaluated.of_clouds);
    FieldPlan fields = written.plan;
    fields.is_float = sample.plan.is_float;
    std::vector<MeshArray> arrays = arrays_of(fields, evaluated.at_points, &result);
    if (!arguments_.receptive_field.empty())
        arrays.push_back(real_array("receptive_field", fields.is_float, "1", influence));
    for (MeshArray& array : arrays) array.values = written.placement->spread(job_, array.values);
    stage("writing the mesh");
    if (!places_.at_points.empty())
        write_mesh(job_, is_probing ? arguments_.at : mesh, target,
                   result.probes ? *result.probes->mesh : *result.sample.mesh,
                   written.plan.location, arrays, *vtk::compression_of(arguments_.compress));
    return result;
}

std::vector<MeshArray> Predictor::arrays_of(const FieldPlan& plan,
                                            const std::vector<std::vector<double>>& values,
                                            Result* result) const {
    if (has_class_array()) {
        ClassOutput output = class_output(plan, values, arguments_.logits);
        result->class_counts = std::move(output.counts);
        return std::move(output.arrays);
    }
    std::vector<MeshArray> arrays;
    for (size_t i = 0; i < values.size(); ++i)
        arrays.push_back(real_array(plan.outputs[i].second, plan.is_float,
                                    plan.outputs[i].first.unit, values[i]));
    return arrays;
}

std::string Predictor::counts_text(const std::vector<int64_t>& class_counts) const {
    std::vector<int64_t> counts;
    for (const int64_t count : class_counts) counts.push_back(job_.sum(count));
    return counts_of_classes(places_.at_points, counts);
}

void Predictor::print_of_clouds(const Result& result, const std::string& when) const {
    if (!job_.is_root() || result.of_clouds.empty()) return;
    const std::vector<int64_t>& clouds = result.sample.cloud_values;
    for (size_t cloud = 0; cloud < result.of_clouds[0].size(); ++cloud) {
        std::vector<double> values;
        for (const std::vector<double>& output : result.of_clouds) values.push_back(output[cloud]);
        print_of_cloud(
            values, clouds.empty() ? when : when + "cloud " + std::to_string(clouds[cloud]) + ": ");
    }
}

void Predictor::print_of_cloud(const std::vector<double>& values, const std::string& begin) const {
    if (are_classes(places_.of_all)) {
        for (const std::string& line : class_lines(places_.of_all, values, arguments_.logits))
            print(begin + line + "\n");
        return;
    }
    for (size_t i = 0; i < values.size(); ++i) {
        const std::string unit = places_.of_all[i].unit;
        print(begin + one_line(places_.of_all[i].name) + " = " + number(values[i]) +
              (unit.empty() ? "" : " " + one_line(unit)) + "\n");
    }
}

}  // namespace surrogate::tool
