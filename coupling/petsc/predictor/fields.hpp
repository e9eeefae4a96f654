// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_petsc.h>

#include <string>
#include <utility>
#include <vector>

#include "coupling/petsc/predictor/problem.hpp"
#include "coupling/petsc/predictor/settings.hpp"

namespace surrogate::petsc {

/// Finds the Vecs of one prediction. The fields of the card are searched in a problem in this
/// order:
///   input   1. the source in -surrogate_fields
///           2. "rhs" and "diagonal": the right-hand side, the diagonal of the matrix
///           3. a Vec composed under its name with the solver, the DM, the matrix
///           4. a named global vector of the DM
///           5. the component of the solution that has its name in the DM: values of the start
///           6. velocity.x, velocity.y, ..: components of a Vec `velocity` as in 3 and 4
///   number per cloud   the value in -surrogate_set
///   output  the source in -surrogate_fields, the component of the solution with its name, or the
///           component of a solution that has only one
class Fields {
public:
    Fields() = default;
    ~Fields() { reset(); }
    Fields(const Fields&) = delete;
    Fields& operator=(const Fields&) = delete;

    /// Finds all fields. Local, except for diagonals. The names live as long as the model.
    PetscErrorCode open(const surrogate_model* model, const Settings& settings,
                        const Problem& problem);
    /// Returns the borrowed vectors to the DM.
    PetscErrorCode close();
    /// Closes the fields and frees the memory of this object, before a problem of another size.
    PetscErrorCode reset();

    PetscErrorCode run(surrogate_plan* plan) const;

private:
    PetscErrorCode add_input(const std::string& name, const char* card_name);
    PetscErrorCode add_number(const char* card_name);
    std::string unknown_number() const;
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
    std::vector<std::string> components_;  // components of the solution, with the names of the DM
    std::vector<surrogate_vec_field> in_, out_;
    std::vector<std::pair<const char*, const double*>> numbers_;  // name on the card, value
    std::vector<Borrowed> borrowed_;                              // named vectors of the DM
    Vec diagonal_ = nullptr;                                      // owned, reused in later solves
    bool has_diagonal_ = false;                                   // of the matrix of this problem
};

}  // namespace surrogate::petsc
