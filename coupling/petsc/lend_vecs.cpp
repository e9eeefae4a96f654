// SPDX-License-Identifier: Apache-2.0
#include "lend_vecs.hpp"

#include <surrogate/surrogate_mpi.h>

#include <cstdint>
#include <cstring>

#include "scalar_array.hpp"
#include "status_of.hpp"
#include "vec_arrays.hpp"

namespace surrogate::petsc {

namespace {

/// Returns n_component, replaced by the block size if it is 0, and the number of points of the Vec
/// on this rank.
PetscErrorCode layout(const surrogate_vec_field& field, PetscInt* n_component, PetscInt* n_point) {
    PetscFunctionBegin;
    PetscInt n_local = 0;
    PetscCall(VecGetLocalSize(field.vec, &n_local));
    *n_component = field.n_component;
    if (*n_component == 0) PetscCall(VecGetBlockSize(field.vec, n_component));
    const bool is_there = field.component >= 0 && field.component < *n_component;
    PetscCheck(is_there || field.component == SURROGATE_ALL_COMPONENTS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_OUTOFRANGE,
               "field %s: component %" PetscInt_FMT " of a Vec with %" PetscInt_FMT
               " components a point; set its block size (VecSetBlockSize) or n_component",
               field.name, field.component, *n_component);
    PetscCheck(n_local % *n_component == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "field %s: local length %" PetscInt_FMT
               " of the Vec is not a multiple of its %" PetscInt_FMT " components",
               field.name, n_local, *n_component);
    *n_point = n_local / *n_component;
    PetscFunctionReturn(0);
}

PetscErrorCode check_vec(const surrogate_plan* plan, const surrogate_vec_field& field) {
    PetscFunctionBegin;
    PetscCheck(field.vec, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "field %s: the Vec is NULL",
               field.name);
    int same = MPI_UNEQUAL;
    PetscCallSurrogate(surrogate_plan_compare_comm(
        plan, PetscObjectComm(reinterpret_cast<PetscObject>(field.vec)), &same));
    PetscCheck(
        same == MPI_IDENT || same == MPI_CONGRUENT, PETSC_COMM_SELF, PETSC_ERR_ARG_NOTSAMECOMM,
        "field %s: the communicator of the Vec differs from the plan's, expected the same; create "
        "both from one communicator",
        field.name);
    PetscFunctionReturn(0);
}

/// Checks that a name is not given twice on one side. The plan would use only the last Vec.
PetscErrorCode check_name(const VecList& call, PetscInt field) {
    PetscFunctionBegin;
    const char* const name = call[field].name;
    PetscCheck(name, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "a surrogate_vec_field has no name");
    const PetscInt first = call.is_input(field) ? 0 : call.n_in;
    for (PetscInt other = first; other < field; ++other) {
        PetscCheck(std::strcmp(call[other].name, name) != 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
                   "field %s is given twice, as %s %" PetscInt_FMT " and %" PetscInt_FMT
                   "; a field has one Vec",
                   name, call.is_input(field) ? "inputs" : "outputs", other - first, field - first);
    }
    PetscFunctionReturn(0);
}

/// Returns the access to a Vec. A Vec that is only written needs no old values on the device; an
/// interlaced Vec, or one that is also read, does.
VecArray::Access access(const VecList& call, PetscInt field, PetscInt n_component,
                        bool keeps_outputs) {
    if (call.is_input(field)) return VecArray::Access::read;
    if (keeps_outputs || n_component > 1) return VecArray::Access::read_write;
    for (PetscInt other = 0; other < call.n_in; ++other)
        if (call.in[other].vec == call[field].vec) return VecArray::Access::read_write;
    return VecArray::Access::write;
}

PetscErrorCode bind(const VecList& call, PetscInt field, Borrower& borrower, VecArray* array) {
    PetscFunctionBegin;
    const surrogate_vec_field& entry = call[field];
    PetscInt n_component = 0, n_point = 0;
    PetscCall(check_name(call, field));
    PetscCall(check_vec(borrower.plan(), entry));
    PetscCall(layout(entry, &n_component, &n_point));
    PetscCall(array->open(entry.vec, access(call, field, n_component, borrower.keeps_outputs()),
                          borrower.place()));
    const int32_t space = space_of(array->memory());
    PetscCheck(space != no_space, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "field %s: the Vec is in %s memory, expected CUDA or host memory for backend cuda; "
               "other backends accept any Vec and compute on the host (-surrogate_backend simd)",
               entry.name, name_of(array->memory()));
    const bool is_whole = entry.component == SURROGATE_ALL_COMPONENTS;
    const PetscInt first = is_whole ? 0 : entry.component;
    const PetscScalar* data = array->data() ? array->data() + first : nullptr;
    const surrogate_array columns =
        scalar_array(data, n_point, is_whole ? n_component : 1, n_component, space);
    PetscCallSurrogate(borrower.bind(call.is_input(field), entry, columns));
    PetscFunctionReturn(0);
}

/// Takes part in the work of the other ranks after an error of this rank's Vec, so that they do not
/// block.
void take_part(Borrower& borrower, PetscErrorCode error) {
    char* text = nullptr;  // PETSc's, of the last error raised
    if (PetscErrorMessage(error, nullptr, &text) || !text || !*text) text = nullptr;
    borrower.take_part(status_of(error), text ? text : "a Vec on this rank is not usable");
}

/// Binds the fields from `field` on, then calls work(). Recurses once per field, so that every
/// array has its guard on the stack and nothing is allocated.
PetscErrorCode bind_and_work(const VecList& call, PetscInt field, bool has_cuda,
                             Borrower& borrower) {
    if (field == call.n_field()) return borrower.work(has_cuda);
    VecArray array;
    if (const PetscErrorCode error = bind(call, field, borrower, &array)) {
        take_part(borrower, error);
        return error;
    }
    const bool is_cuda = space_of(array.memory()) == SURROGATE_CUDA;
    const PetscErrorCode error = bind_and_work(call, field + 1, has_cuda || is_cuda, borrower);
    const PetscErrorCode closed = array.close();
    return error ? error : closed;
}

}  // namespace

PetscErrorCode lend_vecs(const VecList& list, Borrower& borrower) {
    return bind_and_work(list, 0, false, borrower);
}

}  // namespace surrogate::petsc
