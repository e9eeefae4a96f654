// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>

#include "mesh.hpp"

namespace million {

/// The trained model: temperatures from points and their distance to the nearest pipe. The program
/// never depends on it: what goes wrong (no such file, a model with other fields) is a text to
/// print, the same on all ranks.
class Predictor {
public:
    /// Loads the model; in reproducible mode, unless -surrogate_reproducible says otherwise.
    /// Collective.
    PetscErrorCode create(MPI_Comm comm, const std::string& path);
    /// False before create() and after the first call that failed, whose text problem() has.
    bool is_ready() const { return model_.has_value(); }
    const std::string& problem() const { return problem_; }

    /// Plans the model for the points of a mesh. What was planned before goes. Collective.
    PetscErrorCode plan(const Mesh& mesh);
    /// A prediction at the planned points. Collective.
    PetscErrorCode predict(Vec temperature);

    /// Returns the bytes that the plan reports for this rank. Local.
    int64_t plan_bytes() const { return plan_->counter("workspace_bytes"); }
    /// The share of the points with an input outside the training data, over all ranks. Collective.
    PetscErrorCode share_outside(double* share) const;

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
