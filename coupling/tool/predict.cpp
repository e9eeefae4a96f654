// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/predict.hpp"

#include <surrogate/surrogate_vtk.h>

#include <algorithm>
#include <optional>

#include "coupling/tool/field_places.hpp"
#include "coupling/tool/grid_domain.hpp"
#include "coupling/tool/mesh_fields.hpp"
#include "coupling/tool/mesh_output.hpp"
#include "coupling/tool/output.hpp"
#include "coupling/tool/placement.hpp"
#include "coupling/tool/predict_target.hpp"
#include "coupling/tool/progress.hpp"
#include "coupling/tool/range_watch.hpp"
#include "coupling/tool/text.hpp"

namespace surrogate::tool {

namespace {

using vtk::MeshFile;

/// What can be refused without any file; the options of the plan, too.
Options checked_options(const PredictArguments& arguments) {
    if (!arguments.at.empty() && arguments.at != "points" && arguments.at != "cells")
        throw Failure(Exit::bad_usage, "--at is '" + arguments.at + "'; it can be points or cells");
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

/// The arrays as the first rank that has a part of the mesh knows them; a rank without one has
/// none.
MeshArrays agree_arrays(const Job& job, const MeshFile& mesh) {
    const bool has_rows = mesh.n_rows(SURROGATE_POINT) > 0;
    const int64_t none = -job.size();
    const int64_t first = -job.max(has_rows ? -int64_t{job.rank()} : none);
    if (first == job.size()) throw Failure(Exit::bad_usage, "the mesh has no points");
    MeshArrays arrays{mesh.arrays(SURROGATE_POINT), mesh.arrays(SURROGATE_CELL),
                      mesh.has_float_coordinates()};
    std::vector<std::vector<std::byte>> to_rank(static_cast<size_t>(job.size()));
    if (job.rank() == first) {
        const std::string text = arrays.packed();
        const auto* begin = reinterpret_cast<const std::byte*>(text.data());
        for (auto& bytes : to_rank) bytes.assign(begin, begin + text.size());
    }
    const auto received = job.exchange(to_rank)[static_cast<size_t>(first)];
    return MeshArrays::unpacked({reinterpret_cast<const char*>(received.data()), received.size()});
}

/// The grid of the file, for a model that works on one.
vtk::SphereFile read_sphere(const PredictArguments& arguments, const Model& model) {
    const surrogate_domain_info grid = model.input_domain();
    if (!is_same_grid(grid, model.output_domain()))
        throw Failure(Exit::bad_usage,
                      "the model predicts on another grid than that of its inputs; a mesh file has "
                      "one");
    if (vtk::parse_mesh_name(arguments.mesh).kind != vtk::GridKind::structured)
        throw Failure(
            Exit::bad_usage,
            "the model works on the grid " + std::string(grid.grid) + " of " +
                std::to_string(grid.n_lat) + " x " + std::to_string(grid.n_lon) +
                " points on the sphere; the mesh must be a structured grid (.vts, .pvts), "
                "'" +
                arguments.mesh + "' is not");
    if (arguments.at == "cells")
        throw Failure(Exit::bad_usage,
                      "--at cells: a model on the sphere is evaluated at the points of its grid; "
                      "make point data of the cell arrays first");
    return vtk::read_sphere_file(arguments.mesh);
}

/// A piece of a parallel file may lack an array that others have.
void check_piece(const MeshFile& mesh, const FieldPlan& plan) {
    if (mesh.n_rows(plan.location) == 0) return;
    const auto arrays = mesh.arrays(plan.location);
    for (const auto* sources : {&plan.inputs, &plan.coordinates})
        for (const FieldSource& source : *sources)
            if (std::none_of(arrays.begin(), arrays.end(), [&](const auto& array) {
                    return array.name == source.array.name &&
                           array.n_components == source.array.n_components;
                }))
                throw Failure(Exit::bad_usage, "a piece of the mesh has no array '" +
                                                   source.array.name + "' of " +
                                                   std::to_string(source.array.n_components) +
                                                   " components, though others have");
}

std::vector<double> picked(const std::vector<double>& all, const std::vector<int64_t>& rows,
                           size_t n_column = 1) {
    std::vector<double> result;
    result.reserve(rows.size() * n_column);
    for (const int64_t row : rows) {
        const auto begin = all.begin() + row * static_cast<std::ptrdiff_t>(n_column);
        result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(n_column));
    }
    return result;
}

/// What this rank evaluates: the chosen rows, each point of the mesh on one rank.
struct Sample {
    int64_t n_axis = 3;
    std::vector<double> x;                    ///< [n][n_axis]
    std::vector<std::vector<double>> fields;  ///< as FieldPlan::inputs, each [n]
    int64_t n() const { return static_cast<int64_t>(x.size()) / n_axis; }
};

/// Positions from arrays: axes that the card does not name are 0.
void take_coordinates(const MeshFile& mesh, const FieldPlan& plan, const Placement& placement,
                      Sample& sample) {
    sample.n_axis = 0;
    for (const FieldSource& source : plan.coordinates)
        sample.n_axis = std::max<int64_t>(sample.n_axis, source.field.axis + 1);
    const size_t n_axis = static_cast<size_t>(sample.n_axis);
    sample.x.assign(placement.chosen().size() * n_axis, 0.0);
    for (const FieldSource& source : plan.coordinates) {
        const auto values = picked(mesh.values(plan.location, source.array.name, source.component),
                                   placement.chosen());
        for (size_t i = 0; i < values.size(); ++i)
            sample.x[i * n_axis + static_cast<size_t>(source.field.axis)] = values[i];
    }
}

Sample make_sample(const MeshFile& mesh, const FieldPlan& plan, const Placement& placement) {
    Sample sample;
    if (plan.coordinates.empty()) {
        sample.x = picked(mesh.positions(plan.location), placement.chosen(), 3);
    } else {
        take_coordinates(mesh, plan, placement, sample);
    }
    for (const FieldSource& source : plan.inputs)
        sample.fields.push_back(picked(
            mesh.values(plan.location, source.array.name, source.component), placement.chosen()));
    return sample;
}

template <class T>
std::vector<std::vector<T>> as_type(const std::vector<std::vector<double>>& lists) {
    std::vector<std::vector<T>> result;
    for (const auto& list : lists) result.emplace_back(list.begin(), list.end());
    return result;
}

/// Outputs at the sample's points, in the type of the mesh's arrays, returned as double, and those
/// that are one number for all points.
struct Prediction {
    std::vector<std::vector<double>> at_points;
    std::vector<double> of_all;
};

template <class T>
Prediction evaluate(const Job& job, const Model& model, const Domain& domain,
                    const Options& options, const FieldPlan& fields, const OutputPlaces& places,
                    const Sample& sample, Progress& progress) {
    auto in = as_type<T>(sample.fields);
    std::vector<std::vector<T>> out(fields.outputs.size(),
                                    std::vector<T>(static_cast<size_t>(sample.n())));
    Prediction result;
    result.of_all.resize(places.of_all.size());
    std::optional<Plan> plan;
    job.agree([&] {
        plan.emplace(model, domain, options);
        for (size_t i = 0; i < in.size(); ++i)
            plan->bind_input(fields.inputs[i].field.name, column(in[i].data(), sample.n()));
        for (size_t i = 0; i < out.size(); ++i)
            plan->bind_output(fields.outputs[i].first.name, column(out[i].data(), sample.n()));
        for (size_t i = 0; i < places.of_all.size(); ++i)
            plan->bind_output(places.of_all[i].name, column(&result.of_all[i], 1));
    });
    progress.stage("evaluating the model");
    job.agree([&] { plan->run(); });  // a rank that fails takes part in all exchanges of the run
    for (const auto& values : out) result.at_points.emplace_back(values.begin(), values.end());
    return result;
}

void say(const Job& job, const PredictArguments& arguments, const std::string& text) {
    if (job.is_root() && !arguments.quiet) print(text + "\n");
}

const char* word_of(const FieldPlan& plan) {
    return plan.location == SURROGATE_POINT ? "points" : "cell centres";
}

/// A line for each input that leaves the range of the training data, also with --quiet.
void check_ranges(const Job& job, const PredictArguments& arguments, const FieldPlan& plan,
                  const std::vector<RangeCount>& counts, Progress& progress) {
    bool is_outside = false;
    progress.erase();
    for (const RangeCount& count : counts) {
        if (count.n_outside == 0) continue;
        is_outside = true;
        if (job.is_root()) complain("warning: " + count.warning(word_of(plan)));
    }
    if (is_outside && arguments.strict)
        throw Failure(Exit::not_passed,
                      "inputs are outside the range of the training data, and --strict was given: "
                      "nothing was computed, nothing is written");
}

/// "mobility [m^2/(Pa s)]": fields whose arrays have no unit to compare.
std::string fields_without_unit(const FieldPlan& plan) {
    std::string list;
    for (const FieldSource& source : plan.inputs) {
        const std::string unit = source.field.unit;
        if (unit.empty() || !source.array.unit.empty()) continue;
        list += (list.empty() ? "" : ", ") + std::string(source.field.name) + " [" + unit + "]";
    }
    return list;
}

/// What no mesh has a place for: the numbers themselves, also with --quiet.
void print_of_all(const Job& job, const OutputPlaces& places, const std::vector<double>& values) {
    if (!job.is_root()) return;
    for (size_t i = 0; i < values.size(); ++i) {
        const std::string unit = places.of_all[i].unit;
        print(one_line(places.of_all[i].name) + " = " + number(values[i]) +
              (unit.empty() ? "" : " " + one_line(unit)) + "\n");
    }
}

void report(const Job& job, const PredictArguments& arguments, const FieldPlan& plan,
            const Placement& rows, int64_t n_local, const Sample& sample) {
    const char* what = word_of(plan);
    const int64_t n_held = job.sum(n_local), n_points = job.sum(sample.n());
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
                " of them lie at another's place and hold "
                "other values: separate points; global ids in the mesh would tell");
    if (plan.other_would_do) say(job, arguments, "  evaluated at points; --at cells would do too");
    if (const std::string fields = fields_without_unit(plan); !fields.empty())
        say(job, arguments,
            "  arrays without a unit, taken as they are: " + fields +
                " (with one, as the array's UNITS_LABEL, it would be compared)");
}

}  // namespace

void predict(Job& job, const PredictArguments& arguments) {
    Progress progress(6, arguments.quiet || !job.is_root());
    const Options options = checked_options(arguments);  // the same on every rank
    const Target target = find_target(job, arguments);

    progress.stage("reading the model");
    std::optional<Context> context;
    std::optional<Model> model;
    job.agree([&] {
        context.emplace(job.make_context());
        model.emplace(*context, arguments.model);
    });
    const OutputPlaces places = output_places(*model);
    check_maps(arguments.maps, model->inputs(), places.at_points);

    progress.stage("reading the mesh");
    std::optional<MeshFile> mesh;
    std::optional<vtk::SphereFile> sphere;
    job.agree([&] {
        if (model->input_domain().kind == SURROGATE_SPHERE) sphere = read_sphere(arguments, *model);
        mesh.emplace(arguments.mesh, job.rank(), job.size(), sphere ? sphere->lat_axis : -1);
    });
    const MeshArrays arrays = agree_arrays(job, *mesh);
    const FieldPlan plan = plan_fields(
        {arguments.mesh, arguments.maps, sphere ? "points" : arguments.at, arguments.ignore_units},
        arrays, model->inputs(), places.at_points);
    job.agree([&] { check_piece(*mesh, plan); });

    progress.stage("matching shared points");
    const auto placement =
        sphere ? place_on_sphere(job, *mesh, *sphere, *model) : place_points(job, *mesh, plan);
    const Sample sample = make_sample(*mesh, plan, *placement);
    const auto ranges = count_ranges(job, model->inputs(), sample.x, sample.n_axis, sample.fields);
    check_ranges(job, arguments, plan, ranges, progress);

    progress.stage("planning");
    std::optional<Domain> domain;
    job.agree([&] { domain.emplace(placement->make_domain(*context, sample.x, sample.n_axis)); });
    const auto evaluated =
        plan.is_float
            ? evaluate<float>(job, *model, *domain, options, plan, places, sample, progress)
            : evaluate<double>(job, *model, *domain, options, plan, places, sample, progress);
    std::vector<std::vector<double>> outputs;
    for (const auto& values : evaluated.at_points)
        outputs.push_back(placement->spread(job, values));

    progress.stage("writing the mesh");
    const bool has_arrays = !places.at_points.empty();
    if (has_arrays) write_mesh(job, arguments.mesh, target, *mesh, plan, outputs);
    progress.finish();
    report(job, arguments, plan, *placement, mesh->n_rows(plan.location), sample);
    if (!ranges.empty())
        say(job, arguments, "share of points outside the training data:\n" + range_table(ranges));
    print_of_all(job, places, evaluated.of_all);
    say(job, arguments,
        has_arrays ? "wrote " + arguments.out
                   : "no output of the model is at points: " + arguments.out + " is not written");
}

}  // namespace surrogate::tool
