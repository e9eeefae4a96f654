// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_petsc.h>

#include "vec_place.hpp"

namespace surrogate::petsc {

/// Fields in Vecs, numbered consecutively, inputs first.
struct VecList {
    PetscInt n_in, n_out;
    const surrogate_vec_field *in, *out;

    PetscInt n_field() const { return n_in + n_out; }
    bool is_input(PetscInt field) const { return field < n_in; }
    const surrogate_vec_field& operator[](PetscInt field) const {
        return is_input(field) ? in[field] : out[field - n_in];
    }
};

/// Interface of the work that uses the arrays of Vecs during one call.
class Borrower {
public:
    virtual ~Borrower() = default;

    virtual const surrogate_plan* plan() const = 0;
    /// Returns the memory space in which it uses arrays.
    virtual VecPlace place() const = 0;
    /// Returns true if outputs may keep their previous values.
    virtual bool keeps_outputs() const = 0;
    virtual surrogate_status bind(bool is_input, const surrogate_vec_field& field,
                                  const surrogate_array& array) = 0;
    /// Works on the arrays, which are all bound. `has_cuda`: one of them is in CUDA memory.
    virtual PetscErrorCode work(bool has_cuda) = 0;
    /// Takes part in the work of the other ranks after an error of a Vec on this rank.
    virtual void take_part(surrogate_status status, const char* text) = 0;
};

/// Gets the arrays of all Vecs, calls the work of `borrower` and restores the arrays, also after
/// errors. Does not allocate. Errors: see surrogate_plan_run_vec.
PetscErrorCode lend_vecs(const VecList& list, Borrower& borrower);

}  // namespace surrogate::petsc
