// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>

#include "mesh.hpp"

namespace million {

/// The trained model: temperatures from points and their distance to the nearest pipe. The program
/// also works without it: an error (no such file, a model with other fields) is a text to print,
/// the same on all ranks.
class Predictor {
public:
    /// Loads the model, in reproducible mode unless -surrogate_reproducible sets another one.
    /// Collective.
    PetscErrorCode create(MPI_Comm comm, const std::string& path);
    /// Returns false before create() and after the first call that failed; problem() has its text.
    bool is_ready() const { return model_.has_value(); }
    const std::string& problem() const { return problem_; }

    /// Plans the model for the points of a mesh, with their areas as weights if is_weighted.
    /// Destroys the previous plan. Collective.
    PetscErrorCode plan(const Mesh& mesh, bool is_weighted);
    /// Predicts at the planned points. Collective.
    PetscErrorCode predict(Vec temperature);

    /// Returns the bytes that the plan reports on this rank. Local.
    int64_t plan_bytes() const { return plan_->counter("workspace_bytes"); }
    /// Returns the fraction of the points with an input outside the training data, over all ranks.
    /// Collective.
    PetscErrorCode fraction_outside(double* fraction) const;

private:
    PetscErrorCode attempt(const std::function<PetscErrorCode()>& work);

    OwnedVec distance_;
    std::string problem_;
    std::optional<surrogate::Context> context_;
    std::optional<surrogate::Model> model_;
    std::optional<surrogate::Domain> domain_;
    std::optional<surrogate::Plan> plan_;
};

}  // namespace million
