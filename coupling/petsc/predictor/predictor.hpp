// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_petsc.h>

#include "coupling/petsc/predictor/attempt.hpp"
#include "coupling/petsc/predictor/counters.hpp"
#include "coupling/petsc/predictor/fields.hpp"
#include "coupling/petsc/predictor/problem_domain.hpp"

namespace surrogate::petsc {

/// A model planned on the unknowns of a solver, with the options under the solver's prefix: what
/// the KSPGuess and the SNES of type `surrogate` have in common. The solver judges the predictions.
class Predictor {
public:
    Predictor() = default;
    ~Predictor();
    Predictor(const Predictor&) = delete;
    Predictor& operator=(const Predictor&) = delete;

    PetscErrorCode read_settings(PetscObject solver);

    /// Puts the prediction into problem.solution, which holds the start; components that the model
    /// does not predict keep it. Collective, and the same on all ranks.
    ///   is_made   false: the solution is not to be used, and the counters say why
    /// A surrogate that cannot be used (`unfit` of the solver, no model file, fields that are not
    /// found, ..) is an error, or with -surrogate_optional the last time that it is tried.
    PetscErrorCode predict(const Problem& problem, const AttemptResult& unfit, bool* is_made);

    /// Returns whether to use a prediction, by its norm and the initial guess's; counts it.
    bool judge(PetscReal start_norm, PetscReal prediction_norm) {
        return counters_.judge(start_norm, prediction_norm, settings_.factor);
    }

    /// Counts a solve that failed from a prediction and was repeated from the start.
    void count_repeated() { ++counters_.repeated; }

    /// Forgets the plan, for unknowns in another place or of another number.
    PetscErrorCode forget();

    /// Prints the plan and the counters to an ASCII viewer. `norm`: what the solver compares.
    PetscErrorCode view(PetscViewer viewer, const char* norm) const;
    /// The same on standard output, with -surrogate_view.
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
