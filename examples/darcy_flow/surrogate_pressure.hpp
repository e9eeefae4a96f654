// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscvec.h>
#include <surrogate/surrogate_timeloop.h>

#include <functional>
#include <memory>
#include <string>

#include "fluid/grid.hpp"

namespace darcy {

/// The trained model in the place of a pressure solve, as the steps of a guarded time loop. The
/// solver never depends on it: what goes wrong (no such file, a model with other fields, a mobility
/// unlike those of training, a non-finite number) is a text to print, not the end of the run.
class SurrogatePressure {
public:
    /// Loads the model and plans it for the cells of the grid. Afterwards is_ready(), or problem()
    /// says why not.
    PetscErrorCode create(const Grid& grid, const char* path);
    bool is_ready() const { return plan_ != nullptr; }
    const std::string& problem() const { return problem_; }

    /// A run begins: at time 0, with nothing counted.
    PetscErrorCode begin();

    /// A step of dt: pressure = what the network makes of mobility. *is_done false: pressure is as
    /// it was, the step is the solver's, problem() says why. The same answer on every rank.
    PetscErrorCode predict(PetscReal dt_s, Vec mobility, Vec pressure, bool* is_done);

    /// Returns a table of the guards' results in the run.
    std::string report() const;

    /// "simd, avx2, 1 thread a rank": how the plan computes.
    std::string how() const;

private:
    PetscErrorCode plan(const Grid& grid, const char* path);
    PetscErrorCode new_loop();
    PetscErrorCode step(PetscReal dt_s, Vec mobility, Vec pressure, int32_t* outcome);
    PetscErrorCode attempt(const std::function<PetscErrorCode()>& work, bool* is_done);

    template <class Handle, void (*destroy)(Handle**)>
    struct Destroyer {
        void operator()(Handle* handle) const { destroy(&handle); }
    };
    template <class Handle, void (*destroy)(Handle**)>
    using Handled = std::unique_ptr<Handle, Destroyer<Handle, destroy>>;

    MPI_Comm comm_ = MPI_COMM_NULL;  // the grid's
    Handled<surrogate_context, surrogate_context_destroy> context_;
    Handled<surrogate_model, surrogate_model_destroy> model_;
    Handled<surrogate_domain, surrogate_domain_destroy> domain_;
    Handled<surrogate_plan, surrogate_plan_destroy> plan_;
    Handled<surrogate_timeloop, surrogate_timeloop_destroy> loop_;  // goes before its plan
    std::string problem_;
};

}  // namespace darcy
