// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fluid/grid.hpp>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "forward.hpp"

namespace inverse {

/// The trained model in place of the solver: a run predicts the pressure, a backward run gives the
/// gradient. All calls of libsurrogate are here.
class SurrogateGradient : public Forward {
public:
    /// Loads the model and plans it for the cells of the grid. Errors: the library's, on all ranks.
    PetscErrorCode create(const darcy::Grid& grid, const std::string& model);
    PetscErrorCode pressure(Vec a, Vec p) override;
    PetscErrorCode gradient(Vec w, Vec g) override;

private:
    std::optional<surrogate::Plan> plan_;
    std::vector<PetscScalar> a_, p_, w_, g_;  // bound to the plan
};

}  // namespace inverse
