// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/mesh_sample.hpp"

#include <surrogate/surrogate_vtk.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "coupling/case/grid_domain.hpp"
#include "coupling/job/text.hpp"
#include "coupling/mesh/read_mesh.hpp"

namespace surrogate::tool {

namespace {

using vtk::MeshFile;

/// Sends the list of arrays from the first rank that has a part of the mesh to all ranks. Ranks
/// without a part have no list.
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

/// Reads the grid of the file, for a model on the sphere.
vtk::SphereFile read_sphere(const FieldRequest& request, const Model& model) {
    const surrogate_domain_info grid = model.input_domain();
    if (!is_same_grid(grid, model.output_domain()))
        throw Failure(Exit::bad_usage,
                      "the model predicts on a grid that differs from the grid of its inputs; a "
                      "mesh file has one grid");
    if (vtk::parse_mesh_name(request.mesh).kind != vtk::GridKind::structured)
        throw Failure(Exit::bad_usage, "the model works on the grid " + std::string(grid.grid) +
                                           " of " + std::to_string(grid.n_lat) + " x " +
                                           std::to_string(grid.n_lon) +
                                           " points on the sphere; the mesh is '" + request.mesh +
                                           "', expected a structured grid (.vts, .pvts)");
    if (!request.clouds.empty())
        throw Failure(Exit::bad_usage,
                      "--clouds: a model on the sphere takes one state, whose points are all one "
                      "cloud");
    if (request.at == "cells")
        throw Failure(Exit::bad_usage,
                      "--at cells: a model on the sphere is evaluated at the points of its grid; "
                      "make point data of the cell arrays first");
    return vtk::read_sphere_file(request.mesh);
}

/// Checks that this piece of a parallel file has all arrays, which the other pieces have.
void check_piece(const MeshFile& mesh, const FieldPlan& plan) {
    if (mesh.n_rows(plan.location) == 0) return;
    const auto arrays = mesh.arrays(plan.location);
    std::vector<FieldSource> sources = plan.sources();
    if (plan.weights) sources.push_back(*plan.weights);
    for (const FieldSource& source : sources)
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

/// Sets positions from arrays. Axes that the card does not name are 0.
void take_coordinates(MeshSample& sample) {
    const FieldPlan& plan = sample.plan;
    sample.n_axis = 0;
    for (const FieldSource& source : plan.coordinates)
        sample.n_axis = std::max<int64_t>(sample.n_axis, source.field.axis + 1);
    const auto n_axis = static_cast<size_t>(sample.n_axis);
    const auto& chosen = sample.placement->chosen();
    sample.x.assign(chosen.size() * n_axis, 0.0);
    for (const FieldSource& source : plan.coordinates) {
        const auto values =
            picked(sample.mesh->values(plan.location, source.array.name, source.component), chosen);
        for (size_t i = 0; i < values.size(); ++i)
            sample.x[i * n_axis + static_cast<size_t>(source.field.axis)] = values[i];
    }
}

std::vector<double> values_of(const MeshSample& sample, const FieldSource& source) {
    return picked(sample.mesh->values(sample.plan.location, source.array.name, source.component),
                  sample.placement->chosen());
}

/// Sets the clouds of the points. Collective.
void take_clouds(const Job& job, MeshSample& sample) {
    if (!sample.plan.clouds) return;
    const std::string& name = sample.plan.clouds->array.name;
    job.agree([&] {
        for (const double value : values_of(sample, *sample.plan.clouds)) {
            constexpr double largest = 1LL << 53;  // larger integers are not exact
            if (!(std::abs(value) < largest))
                throw Failure(Exit::bad_usage, "--clouds: array '" + name + "' has the value " +
                                                   number(value) +
                                                   ", expected integers below 2^53");
            sample.clouds.push_back(static_cast<int64_t>(value));
        }
        sample.clouds.reserve(1);
    });
    const auto sort = [](std::vector<int64_t> values) {
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
        return values;
    };
    const std::vector<int64_t> all = sort(job.gather(sort(sample.clouds)));
    const std::string text = job.broadcast(
        std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(int64_t)));
    sample.cloud_values.resize(text.size() / sizeof(int64_t));
    std::memcpy(sample.cloud_values.data(), text.data(), text.size());
    for (int64_t& cloud : sample.clouds)
        cloud = std::lower_bound(sample.cloud_values.begin(), sample.cloud_values.end(), cloud) -
                sample.cloud_values.begin();
}

/// The least and the largest value of an array in each cloud.
struct CloudRange {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();

    void join(const CloudRange& other) {
        const bool is_nan = std::isnan(low) || std::isnan(other.low);
        low = is_nan ? std::numeric_limits<double>::quiet_NaN() : std::min(low, other.low);
        high = is_nan ? low : std::max(high, other.high);
    }
};

/// Returns the number of each cloud from an array. Collective.
std::vector<double> numbers_of(const Job& job, const MeshSample& sample,
                               const FieldSource& source) {
    std::vector<CloudRange> ranges(static_cast<size_t>(sample.n_cloud()));
    job.agree([&] {
        const std::vector<double> values = values_of(sample, source);
        for (size_t i = 0; i < values.size(); ++i)
            ranges[sample.clouds.empty() ? 0 : static_cast<size_t>(sample.clouds[i])].join(
                {values[i], values[i]});
    });
    std::vector<CloudRange> all = job.gather(ranges);
    all.resize(std::max(all.size(), ranges.size()));
    for (size_t i = ranges.size(); i < all.size(); ++i) all[i % ranges.size()].join(all[i]);
    all.resize(ranges.size());
    const std::string text = job.broadcast(
        std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(CloudRange)));
    std::memcpy(all.data(), text.data(), text.size());
    std::vector<double> numbers;
    for (size_t i = 0; i < all.size(); ++i) {
        if (!(all[i].low == all[i].high))
            throw Failure(Exit::bad_usage,
                          "'" + std::string(source.field.name) +
                              "' is one number per cloud to the model, and the array '" +
                              source.array.name + "' is " + number(all[i].low) + " .. " +
                              number(all[i].high) +
                              (sample.cloud_values.empty()
                                   ? ", expected the same number at all points"
                                   : " in cloud " + std::to_string(sample.cloud_values[i]) +
                                         ", expected the same number at all its points"));
        numbers.push_back(all[i].low);
    }
    return numbers;
}

void take_values(MeshSample& sample) {
    const FieldPlan& plan = sample.plan;
    const auto& chosen = sample.placement->chosen();
    if (plan.coordinates.empty())
        sample.x = picked(sample.mesh->positions(plan.location), chosen, 3);
    else
        take_coordinates(sample);
    for (const FieldSource& source : plan.inputs)
        sample.fields.push_back(values_of(sample, source));
    if (plan.weights) sample.weights = values_of(sample, *plan.weights);
}

void take_numbers(const Job& job, MeshSample& sample) {
    const auto n_cloud = static_cast<size_t>(sample.n_cloud());
    for (const FieldNumber& number : sample.plan.numbers)
        sample.numbers.push_back(number.value ? std::vector<double>(n_cloud, *number.value)
                                              : numbers_of(job, sample, *number.source));
}

}  // namespace

const char* MeshSample::word() const {
    return plan.location == SURROGATE_POINT ? "points" : "cell centers";
}

MeshSample join_samples(const MeshSample& mesh, const MeshSample& probes) {
    const auto joined = [](std::vector<double> first, const std::vector<double>& second) {
        first.insert(first.end(), second.begin(), second.end());
        return first;
    };
    MeshSample both;
    both.plan = mesh.plan;
    both.plan.is_float = mesh.plan.is_float && probes.plan.is_float;
    both.placement = place_both(*mesh.placement, *probes.placement);
    both.n_axis = mesh.n_axis;
    both.x = joined(mesh.x, probes.x);
    for (size_t i = 0; i < mesh.fields.size(); ++i)
        both.fields.push_back(joined(mesh.fields[i], probes.fields[i]));
    both.numbers = mesh.numbers;
    both.weights = joined(mesh.weights, std::vector<double>(static_cast<size_t>(probes.n())));
    return both;
}

MeshSample read_mesh_sample(const Job& job, const FieldRequest& request, const Model& model,
                            const OutputPlaces& places,
                            const std::function<void(const std::string&)>& stage) {
    stage("reading the mesh");
    MeshSample sample;
    std::optional<vtk::SphereFile> sphere;
    job.agree([&] {
        if (model.input_domain().kind == SURROGATE_SPHERE) sphere = read_sphere(request, model);
    });
    sample.mesh.emplace(read_mesh(job, request.mesh, sphere ? sphere->lat_axis : -1));
    const MeshArrays arrays = agree_arrays(job, *sample.mesh);
    FieldRequest settled = request;
    if (sphere) settled.at = "points";
    sample.plan = plan_fields(settled, arrays, model.inputs(), places.at_points);
    job.agree([&] { check_piece(*sample.mesh, sample.plan); });

    stage("matching shared points");
    sample.placement = sphere ? place_on_sphere(job, *sample.mesh, *sphere, model)
                              : place_points(job, *sample.mesh, sample.plan);
    take_values(sample);
    take_clouds(job, sample);
    take_numbers(job, sample);
    return sample;
}

}  // namespace surrogate::tool
