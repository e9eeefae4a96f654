// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/job/classes.hpp"
#include "coupling/job/job.hpp"
#include "coupling/job/progress.hpp"
#include "coupling/mesh/field_places.hpp"
#include "coupling/mesh/mesh_plan.hpp"
#include "coupling/mesh/mesh_sample.hpp"
#include "coupling/tool/mesh_output.hpp"
#include "coupling/tool/predict.hpp"
#include "coupling/tool/predict_target.hpp"
#include "coupling/tool/range_statistics.hpp"

namespace surrogate::tool {

/// Returns the plan options of `predict`. Throws Failure for invalid arguments that can be found
/// without reading a file. Local; the result is the same on all ranks.
Options checked_options(const PredictArguments& arguments);

/// Holds the model of a `predict`, with a plan that is reused for all meshes. Functions are
/// collective; errors are Failure, the same on all ranks.
class Predictor {
public:
    /// Reads the model; `options` must outlive the predictor.
    Predictor(const Job& job, const PredictArguments& arguments, const Options& options);

    struct Result {
        MeshSample sample;
        std::optional<MeshSample> probes = {};  ///< of --at, if it is a mesh
        std::vector<RangeCount> ranges;
        std::vector<std::vector<double>> of_clouds;  ///< as places().of_all, by cloud
        std::vector<int64_t> class_counts;  ///< of a classifier: points on this rank, by class
    };

    /// Evaluates `mesh` and writes it to `target`, unless no output is at points. Warnings begin
    /// with `when`. `progress` may be null; it gets a stage each for reading, matching, planning,
    /// evaluating and writing.
    Result run(const std::string& mesh, const Target& target, const std::string& when,
               Progress* progress);

    const Model& model() const { return *model_; }
    const OutputPlaces& places() const { return places_; }
    const MeshPlan& plan() const { return *plan_; }

    /// Returns true if the outputs at points are classes.
    bool has_class_array() const { return are_classes(places_.at_points); }

    /// Returns a text such as "sea 120, land 33" from the counts of all ranks. Collective.
    std::string counts_text(const std::vector<int64_t>& class_counts) const;

    /// Prints lines such as "drag = 0.31 N", or class and probabilities, on rank 0's stdout; with
    /// --clouds "cloud 7: drag = 0.31 N".
    void print_of_clouds(const Result& result, const std::string& when) const;

private:
    void check_weights() const;
    MeshSample read_probes(FieldRequest request, const MeshSample& first,
                           const std::function<void(const std::string&)>& stage) const;
    /// Returns the arrays of the mesh, at the points of the sample.
    std::vector<MeshArray> arrays_of(const FieldPlan& plan,
                                     const std::vector<std::vector<double>>& values,
                                     Result* result) const;
    void print_of_cloud(const std::vector<double>& values, const std::string& begin) const;

    const Job& job_;
    const PredictArguments& arguments_;
    std::optional<Context> context_;
    std::optional<Model> model_;
    OutputPlaces places_;
    std::optional<MeshPlan> plan_;
};

}  // namespace surrogate::tool
