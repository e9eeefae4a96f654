// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_petsc.h>

#include <string>
#include <vector>

#include "coupling/petsc/predictor/problem.hpp"
#include "coupling/petsc/predictor/settings.hpp"

namespace surrogate::petsc {

/// The Vecs of one prediction: where each field of the card is found in a problem.
///   input   1. what -surrogate_fields says of it
///           2. "rhs" and "diagonal": the right-hand side, the diagonal of the matrix
///           3. a Vec composed under its name with the solver, the DM, the matrix
///           4. a named global vector of the DM
///           5. the component of the solution that the DM gives its name: values of the start
///           6. velocity.x, velocity.y, ..: components of a Vec `velocity` as in 3 and 4
///   output  what -surrogate_fields says, the component of the solution of its name, or the one
///           component of a solution that has no more
class Fields {
public:
    Fields() = default;
    ~Fields() { reset(); }
    Fields(const Fields&) = delete;
    Fields& operator=(const Fields&) = delete;

    /// Finds all fields. Local but for diagonals; the names live as long as the model.
    PetscErrorCode open(const surrogate_model* model, const Settings& settings,
                        const Problem& problem);
    /// Gives back what was lent by the DM.
    PetscErrorCode close();
    /// Gives back its own memory too: for a problem of another size.
    PetscErrorCode reset();

    PetscErrorCode run(surrogate_plan* plan) const {
        return surrogate_plan_run_vec(plan, PetscInt(in_.size()), in_.data(), PetscInt(out_.size()),
                                      out_.data());
    }

private:
    PetscErrorCode add_input(const std::string& name, const char* card_name);
    PetscErrorCode add_output(const char* card_name);
    PetscErrorCode find_source(const Source& source, Vec* vec, PetscInt* component);
    PetscErrorCode find_vec(const char* name, Vec* vec);
    PetscErrorCode find_stem(const std::string& name, Vec* vec, PetscInt* component);
    PetscErrorCode find_diagonal(Vec* vec);
    PetscErrorCode take_component(const char* card_name, Vec vec, PetscInt component,
                                  std::vector<surrogate_vec_field>* fields);
    PetscErrorCode borrow_named(const char* name, Vec* vec);

    struct Borrowed {
        std::string name;
        Vec vec;
    };

    const surrogate_model* model_ = nullptr;
    const Settings* settings_ = nullptr;
    Problem problem_;
    std::vector<std::string> components_;  // of the solution, as the DM names them
    std::vector<surrogate_vec_field> in_, out_;
    std::vector<Borrowed> borrowed_;  // named vectors of the DM
    Vec diagonal_ = nullptr;          // owned, kept from solve to solve
    bool has_diagonal_ = false;       // of this problem's matrix
};

}  // namespace surrogate::petsc
