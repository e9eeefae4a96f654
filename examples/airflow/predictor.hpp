// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>

#include "surface.hpp"

namespace airflow {

/// The trained model: pressure coefficients from the points of a surface and their normals. The
/// program also works without it: an error (no such file, a model with other fields) is a text to
/// print, the same on all ranks.
class Predictor {
public:
    /// Loads the model. Collective.
    PetscErrorCode create(MPI_Comm comm, const std::string& path);
    /// Returns false before create() and after the first call that failed; problem() has its text.
    bool is_ready() const { return model_.has_value(); }
    const std::string& problem() const { return problem_; }

    /// Plans the model for a surface. Destroys the previous plan. Collective.
    PetscErrorCode plan(const Surface& surface);
    /// Predicts at the planned points. Collective.
    PetscErrorCode predict(Vec pressure);

    /// Returns the fraction of the points with an input outside the training data, over all ranks.
    /// Collective.
    PetscErrorCode fraction_outside(double* fraction) const;

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
