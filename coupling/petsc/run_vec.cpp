// SPDX-License-Identifier: Apache-2.0
#include <surrogate/surrogate_mpi.h>
#include <surrogate/surrogate_petsc.h>

#include <cstdint>
#include <cstring>

#include "device_stream.hpp"
#include "log_events.hpp"
#include "scalar_array.hpp"
#include "status_of.hpp"
#include "vec_arrays.hpp"

namespace {

using surrogate::petsc::EventScope;
using surrogate::petsc::find_event;
using surrogate::petsc::follow_petsc;
using surrogate::petsc::let_petsc_follow;
using surrogate::petsc::scalar_array;
using surrogate::petsc::space_of;
using surrogate::petsc::status_of;
using surrogate::petsc::VecArray;
using surrogate::petsc::VecPlace;

/// The arguments of surrogate_plan_run_vec; fields are numbered through, inputs first.
struct Call {
    surrogate_plan* plan;
    PetscInt n_in, n_out;
    const surrogate_vec *in, *out;
    VecPlace place;  // what the plan takes

    PetscInt n_field() const { return n_in + n_out; }
    bool is_input(PetscInt field) const { return field < n_in; }
    const surrogate_vec& operator[](PetscInt field) const {
        return is_input(field) ? in[field] : out[field - n_in];
    }
};

/// Where the plan takes arrays.
VecPlace place_of(const surrogate_plan* plan) {
    char backend[16];
    int64_t size = sizeof backend;
    const bool is_known =
        surrogate_plan_option(plan, "backend", backend, &size) == SURROGATE_SUCCESS;
    return is_known ? surrogate::petsc::place_for(backend) : VecPlace::host;
}

/// n_component with 0 resolved to the block size, and the number of points in the Vec on this rank.
PetscErrorCode layout(const surrogate_vec& field, PetscInt* n_component, PetscInt* n_point) {
    PetscFunctionBegin;
    PetscInt n_local = 0;
    PetscCall(VecGetLocalSize(field.vec, &n_local));
    *n_component = field.n_component;
    if (*n_component == 0) PetscCall(VecGetBlockSize(field.vec, n_component));
    PetscCheck(field.component >= 0 && field.component < *n_component, PETSC_COMM_SELF,
               PETSC_ERR_ARG_OUTOFRANGE,
               "field %s: component %" PetscInt_FMT " of a Vec with %" PetscInt_FMT
               " components a point; set its block size (VecSetBlockSize) or n_component",
               field.name, field.component, *n_component);
    PetscCheck(n_local % *n_component == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "field %s: local length %" PetscInt_FMT
               " of the Vec is no multiple of its %" PetscInt_FMT " components",
               field.name, n_local, *n_component);
    *n_point = n_local / *n_component;
    PetscFunctionReturn(0);
}

PetscErrorCode check_vec(const surrogate_plan* plan, const surrogate_vec& field) {
    PetscFunctionBegin;
    PetscCheck(field.vec, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "field %s: the Vec is NULL",
               field.name);
    int same = MPI_UNEQUAL;
    PetscCallSurrogate(surrogate_plan_compare_comm(
        plan, PetscObjectComm(reinterpret_cast<PetscObject>(field.vec)), &same));
    PetscCheck(
        same == MPI_IDENT || same == MPI_CONGRUENT, PETSC_COMM_SELF, PETSC_ERR_ARG_NOTSAMECOMM,
        "field %s: the Vec is on another communicator than the plan; both must come from the "
        "same one",
        field.name);
    PetscFunctionReturn(0);
}

/// A name given twice on one side: the plan would keep the last Vec, and leave the other one as it
/// was.
PetscErrorCode check_name(const Call& call, PetscInt field) {
    PetscFunctionBegin;
    const char* const name = call[field].name;
    PetscCheck(name, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "a surrogate_vec has no name");
    const PetscInt first = call.is_input(field) ? 0 : call.n_in;
    for (PetscInt other = first; other < field; ++other) {
        PetscCheck(std::strcmp(call[other].name, name) != 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
                   "field %s is given twice, as %s %" PetscInt_FMT " and %" PetscInt_FMT
                   "; a field has one Vec",
                   name, call.is_input(field) ? "inputs" : "outputs", other - first, field - first);
    }
    PetscFunctionReturn(0);
}

/// Written alone, a Vec needs no old values on the device; interlaced or read as well, it does.
VecArray::Access access(const Call& call, PetscInt field, PetscInt n_component) {
    if (call.is_input(field)) return VecArray::Access::read;
    if (n_component > 1) return VecArray::Access::read_write;
    for (PetscInt other = 0; other < call.n_in; ++other)
        if (call.in[other].vec == call[field].vec) return VecArray::Access::read_write;
    return VecArray::Access::write;
}

PetscErrorCode bind(const Call& call, PetscInt field, VecArray* array) {
    PetscFunctionBegin;
    const surrogate_vec& entry = call[field];
    PetscInt n_component = 0, n_point = 0;
    PetscCall(check_name(call, field));
    PetscCall(check_vec(call.plan, entry));
    PetscCall(layout(entry, &n_component, &n_point));
    PetscCall(array->open(entry.vec, access(call, field, n_component), call.place));
    const int32_t space = space_of(array->memory());
    PetscCheck(space != surrogate::petsc::no_space, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "field %s: the Vec lies in %s memory; a plan with backend cuda takes CUDA and host "
               "memory, other plans take any Vec and compute on the host (-surrogate_backend simd)",
               entry.name, surrogate::petsc::name_of(array->memory()));
    const PetscScalar* data = array->data() ? array->data() + entry.component : nullptr;
    const surrogate_array column = scalar_array(data, n_point, 1, n_component, space);
    PetscCallSurrogate(
        call.is_input(field)
            ? surrogate_plan_bind_input(call.plan, entry.name, entry.unit, &column)
            : surrogate_plan_bind_output(call.plan, entry.name, entry.unit, &column));
    PetscFunctionReturn(0);
}

PetscErrorCode run(surrogate_plan* plan) {
    PetscFunctionBegin;
    PetscCallSurrogate(surrogate_plan_run(plan));
    PetscFunctionReturn(0);
}

/// Takes part without arrays, so that the others are not left waiting: sends NaN. With agree=true
/// they hear what `error` was about; this rank returns it in any case.
void run_without_arrays(surrogate_plan* plan, PetscErrorCode error) {
    char* text = nullptr;  // PETSc's, of the last error raised
    if (PetscErrorMessage(error, nullptr, &text) || !text || !*text) text = nullptr;
    surrogate_plan_unbind(plan);
    surrogate_plan_run_failed(plan, status_of(error), text ? text : "a Vec could not be used");
}

/// A run with Vecs in CUDA memory, which PETSc may still be working on.
PetscErrorCode run_on_cuda(surrogate_plan* plan) {
    if (const PetscErrorCode error = follow_petsc(plan)) {
        run_without_arrays(plan, error);
        return error;
    }
    const PetscErrorCode error = run(plan);
    return error ? error : let_petsc_follow(plan);
}

/// Binds the fields from `field` on and runs: one level of recursion a field, so that every array
/// has its guard on the stack and nothing is allocated. has_cuda: whether one of them so far lies
/// in CUDA memory.
PetscErrorCode bind_and_run(const Call& call, PetscInt field, bool has_cuda) {
    if (field == call.n_field()) return has_cuda ? run_on_cuda(call.plan) : run(call.plan);
    VecArray array;
    if (const PetscErrorCode error = bind(call, field, &array)) {
        run_without_arrays(call.plan, error);
        return error;
    }
    const bool is_cuda = space_of(array.memory()) == SURROGATE_CUDA;
    const PetscErrorCode error = bind_and_run(call, field + 1, has_cuda || is_cuda);
    const PetscErrorCode closed = array.close();
    return error ? error : closed;
}

}  // namespace

extern "C" PetscErrorCode surrogate_plan_run_vec(surrogate_plan* plan, PetscInt n_in,
                                                 const surrogate_vec in[], PetscInt n_out,
                                                 const surrogate_vec out[]) {
    PetscFunctionBegin;
    PetscCheck(plan, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "plan is NULL");
    PetscLogEvent event = 0;
    PetscCall(find_event("SurrRun", &event));
    EventScope scope(event);
    surrogate_plan_unbind(plan);
    const PetscErrorCode error =
        bind_and_run({plan, n_in, n_out, in, out, place_of(plan)}, 0, false);
    surrogate_plan_unbind(plan);  // the arrays were lent for this call only
    PetscCall(error);
    PetscFunctionReturn(0);
}
