// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/mesh/field_places.hpp"
#include "coupling/mesh/mesh_sample.hpp"

namespace surrogate::tool {

/// Outputs at a sample's points, as double, and outputs with one number per cloud.
struct Prediction {
    std::vector<std::vector<double>> at_points;
    std::vector<std::vector<double>> of_clouds;  ///< as places.of_all, each [n_cloud]
};

/// Evaluates a model on one mesh after the other with a plan. All functions are collective; errors
/// are Failure, on all ranks. Context, model and output locations must outlive it.
class MeshPlan {
public:
    MeshPlan(const Job& job, const Context& context, const Model& model, const OutputPlaces& places,
             const Options& options)
        : job_(job), context_(context), model_(model), places_(places), options_(options) {}

    /// Evaluates in the type of the sample's arrays. The plan is reused if all ranks have the
    /// points of the last call. If points have moved or their number has changed, the plan is
    /// updated (surrogate_domain_update_points). If that is not possible (a grid with another
    /// partition, points with and without ids, other types), a new plan is created. `stage` as in
    /// read_mesh_sample().
    Prediction run(const MeshSample& sample, const std::function<void(const std::string&)>& stage);

    /// Returns how much each point of the last run's sample influences the point `row` of this rank
    /// (-1: a point of another rank): the norm of the derivatives of the outputs' sum with respect
    /// to the point's inputs and coordinates, outputs and inputs in deviations of the card. For
    /// plans with gradients=inputs.
    std::vector<double> receptive_field(int64_t row);

    int64_t n_made() const { return n_made_; }          ///< plans created
    int64_t n_followed() const { return n_followed_; }  ///< updates of the plan's points

private:
    template <class T>
    struct Arrays {
        std::vector<std::vector<T>> in, out;
    };
    enum class Change { none, moved, other };

    Change change_to(const MeshSample& sample) const;
    const double* weights() const;
    void prepare(const MeshSample& sample, Change change);
    template <class T>
    void bind(const MeshSample& sample, Arrays<T>& arrays);
    template <class T>
    Prediction evaluate(const MeshSample& sample, Arrays<T>& arrays, bool is_bound);

    const Job& job_;
    const Context& context_;
    const Model& model_;
    const OutputPlaces& places_;
    const Options& options_;
    std::optional<Domain> domain_;
    std::optional<Plan> plan_;
    Arrays<float> floats_;
    Arrays<double> doubles_;
    std::vector<std::vector<double>> numbers_, of_clouds_;  ///< [inputs or outputs][n_cloud]
    // Data of the last sample.
    std::vector<double> x_, weights_;
    std::vector<int64_t> clouds_;
    int64_t n_cloud_ = 1;
    int64_t n_axis_ = 0, n_made_ = 0, n_followed_ = 0;
    bool is_float_ = false, has_ids_ = false;
};

}  // namespace surrogate::tool
