// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_petsc.h>

#include "coupling/petsc/predictor/attempt.hpp"
#include "coupling/petsc/predictor/counters.hpp"
#include "coupling/petsc/predictor/fields.hpp"
#include "coupling/petsc/predictor/problem_domain.hpp"

namespace surrogate::petsc {

/// Predicts the unknowns of a solver with a model, with the options under the solver's prefix.
/// Common part of the KSPGuess and the SNES of type `surrogate`. The solver compares the
/// predictions with its start.
class Predictor {
public:
    Predictor() = default;
    ~Predictor();
    Predictor(const Predictor&) = delete;
    Predictor& operator=(const Predictor&) = delete;

    PetscErrorCode read_settings(PetscObject solver);

    /// Writes the prediction to problem.solution, which must hold the start; components that the
    /// model does not predict stay unchanged. Collective; the result is the same on all ranks.
    ///   is_made   false: the solution must not be used, and the counters have the reason
    /// A surrogate that cannot be used (`unfit` of the solver, no model file, missing fields, ..)
    /// is an error. With -surrogate_optional it is not an error, and later calls do not use the
    /// surrogate.
    PetscErrorCode predict(const Problem& problem, const AttemptResult& unfit, bool* is_made);

    /// Returns true if the prediction is used, by its norm and the norm of the initial guess, and
    /// counts it.
    bool judge(PetscReal start_norm, PetscReal prediction_norm) {
        return counters_.judge(start_norm, prediction_norm, settings_.factor);
    }

    /// Counts a solve that failed from a prediction and was repeated from the start.
    void count_repeated() { ++counters_.repeated; }

    /// Destroys the plan, for unknowns with other coordinates or another number.
    PetscErrorCode forget();

    /// Prints the plan and the counters to an ASCII viewer. `norm` names the norm that the solver
    /// compares.
    PetscErrorCode view(PetscViewer viewer, const char* norm) const;
    /// Prints the same text to standard output if -surrogate_view is set.
    PetscErrorCode view_at_end(MPI_Comm comm, const char* norm) const;

private:
    AttemptResult prepare(const Problem& problem);
    PetscErrorCode open_model(const Problem& problem);
    PetscErrorCode make_plan(const Problem& problem);
    PetscErrorCode follow_unknowns(const Problem& problem);
    PetscErrorCode give_up(const Problem& problem, const AttemptResult& outcome);
    PetscErrorCode run(const Problem& problem, bool* is_made);

    Settings settings_;
    Counters counters_;
    bool has_settings_ = false;
    bool is_given_up_ = false;
    surrogate_context* context_ = nullptr;
    surrogate_model* model_ = nullptr;
    surrogate_plan* plan_ = nullptr;
    DomainStamp stamp_;
    Fields fields_;
};

}  // namespace surrogate::petsc
