// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/mesh/field_places.hpp"
#include "coupling/mesh/mesh_fields.hpp"
#include "coupling/mesh/mesh_file.hpp"
#include "coupling/mesh/placement.hpp"

namespace surrogate::tool {

/// Inputs of a model from a mesh file on this rank. The rows are selected so that each point of the
/// mesh is on one rank.
struct MeshSample {
    std::optional<vtk::MeshFile> mesh;  ///< this rank's part, with all its rows
    FieldPlan plan;
    std::unique_ptr<Placement> placement;
    int64_t n_axis = 3;
    std::vector<double> x;                    ///< [n][n_axis]
    std::vector<std::vector<double>> fields;  ///< as plan.inputs, each [n]
    std::vector<double> weights;              ///< [n], if plan.weights has an array
    /// Values of the array of clouds, ascending, the same on all ranks; empty without such an
    /// array.
    std::vector<int64_t> cloud_values;
    std::vector<int64_t> clouds;  ///< [n] indices in cloud_values; empty without such an array
    std::vector<std::vector<double>> numbers;  ///< as plan.numbers, each [n_cloud()]

    int64_t n() const { return static_cast<int64_t>(placement->chosen().size()); }
    int64_t n_cloud() const { return cloud_values.empty() ? 1 : std::ssize(cloud_values); }
    /// Returns clouds for a domain; NULL: one cloud.
    const int64_t* domain_clouds() const { return cloud_values.empty() ? nullptr : clouds.data(); }
    /// Returns "points" or "cell centers".
    const char* word() const;
};

/// Returns the points of a mesh and, behind them, the points of `probes`, to evaluate all of them.
/// Probes have weight 0, so that they do not influence others. All points are in one cloud. The
/// result has no mesh of its own.
MeshSample join_samples(const MeshSample& mesh, const MeshSample& probes);

/// Reads the sample. Calls `stage` at the beginning of each stage with a text such as "reading the
/// mesh". Collective; errors are Failure, on all ranks with the same text: errors of plan_fields(),
/// an unreadable file, and a mesh that is not the grid of a model on the sphere. Model and output
/// locations must have been checked.
MeshSample read_mesh_sample(const Job& job, const FieldRequest& request, const Model& model,
                            const OutputPlaces& places,
                            const std::function<void(const std::string&)>& stage);

}  // namespace surrogate::tool
