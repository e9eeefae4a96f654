// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscvec.h>
#include <surrogate/surrogate_timeloop.h>

#include <functional>
#include <memory>
#include <string>

#include "fluid/grid.hpp"

namespace darcy {

/// The trained model as a replacement of pressure solves, in the steps of a guarded time loop. The
/// solver also works without it: an error (no such file, a model with other fields, a mobility
/// unlike the training data, a non-finite number) is a text to print, not the end of the run.
class SurrogatePressure {
public:
    /// Loads the model and plans it for the cells of the grid. Afterwards is_ready() is true, or
    /// problem() has the reason.
    PetscErrorCode create(const Grid& grid, const char* path);
    bool is_ready() const { return plan_ != nullptr; }
    const std::string& problem() const { return problem_; }

    /// Begins a run at time 0, with all counters zero.
    PetscErrorCode begin();

    /// Performs a step of dt: pressure is the prediction for mobility. If *is_done is false,
    /// pressure is unchanged, the solver must compute the step, and problem() has the reason. The
    /// result is the same on every rank.
    PetscErrorCode predict(PetscReal dt_s, Vec mobility, Vec pressure, bool* is_done);

    /// Returns the results of the guards in the run: a table.
    std::string report() const;

    /// Returns the backend of the plan, such as "simd, avx2, 1 thread a rank".
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

    MPI_Comm comm_ = MPI_COMM_NULL;  // owned by the grid
    Handled<surrogate_context, surrogate_context_destroy> context_;
    Handled<surrogate_model, surrogate_model_destroy> model_;
    Handled<surrogate_domain, surrogate_domain_destroy> domain_;
    Handled<surrogate_plan, surrogate_plan_destroy> plan_;
    Handled<surrogate_timeloop, surrogate_timeloop_destroy> loop_;  // destroyed before its plan
    std::string problem_;
};

}  // namespace darcy
