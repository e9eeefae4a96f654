// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>

#include "surface.hpp"

namespace airflow {

/// The trained model: pressure coefficients from the points of a surface and their normals. The
/// program never depends on it: what goes wrong (no such file, a model with other fields) is a text
/// to print, the same on all ranks.
class Predictor {
public:
    /// Loads the model. Collective.
    PetscErrorCode create(MPI_Comm comm, const std::string& path);
    /// False before create() and after the first call that failed, whose text problem() has.
    bool is_ready() const { return model_.has_value(); }
    const std::string& problem() const { return problem_; }

    /// Plans the model for a surface. What was planned before goes. Collective.
    PetscErrorCode plan(const Surface& surface);
    /// A prediction at the planned points. Collective.
    PetscErrorCode predict(Vec pressure);

    /// The share of the points with an input outside the training data, over all ranks. Collective.
    PetscErrorCode share_outside(double* share) const;

private:
    PetscErrorCode attempt(const std::function<PetscErrorCode()>& work);
    PetscErrorCode set_features(const Surface& surface);

    OwnedVec features_;  // interlaced
    std::string problem_;
    std::optional<surrogate::Context> context_;
    std::optional<surrogate::Model> model_;
    std::optional<surrogate::Domain> domain_;
    std::optional<surrogate::Plan> plan_;
};

}  // namespace airflow
