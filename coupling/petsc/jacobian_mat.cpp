// SPDX-License-Identifier: Apache-2.0
// A shell Mat of the Jacobian of a plan.
#include <petscmat.h>
#include <surrogate/surrogate_petsc.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lend_vecs.hpp"
#include "log_events.hpp"
#include "status_of.hpp"

namespace surrogate::petsc {

namespace {

using Bind = surrogate_status (*)(surrogate_plan*, const char*, const char*,
                                  const surrogate_array*);

/// Lends Vecs to functions of a plan.
template <class Work>
class Lent final : public Borrower {
public:
    /// is_transposed: what the other ranks do if a Vec of this rank is wrong.
    Lent(surrogate_plan* plan, Bind bind_in, Bind bind_out, bool is_transposed, const Work& work)
        : plan_(plan), bind_{bind_in, bind_out}, is_transposed_(is_transposed), work_(work) {}

    const surrogate_plan* plan() const override { return plan_; }
    VecPlace place() const override { return VecPlace::host; }
    bool keeps_outputs() const override { return false; }
    surrogate_status bind(bool is_input, const surrogate_vec_field& field,
                          const surrogate_array& array) override {
        return bind_[is_input ? 0 : 1](plan_, field.name, field.unit, &array);
    }
    PetscErrorCode work(bool) override { return work_(); }
    void take_part(surrogate_status status, const char* text) override {
        surrogate_plan_unbind(plan_);
        if (!is_transposed_) {
            surrogate_plan_run_tangent(plan_);  // fails here: nothing is bound
            return;
        }
        surrogate_plan_run_with_error(plan_, status, text);
        surrogate_plan_run_backward(plan_);
    }

private:
    surrogate_plan* plan_;
    Bind bind_[2];
    bool is_transposed_;
    const Work& work_;
};

template <class Work>
PetscErrorCode lend(surrogate_plan* plan, const VecList& list, Bind bind_in, Bind bind_out,
                    bool is_transposed, const Work& work) {
    Lent<Work> lent(plan, bind_in, bind_out, is_transposed, work);
    return lend_vecs(list, lent);
}

/// The fields of a side of the Jacobian, with names and Vecs of its own.
struct Side {
    std::vector<std::string> names, units;
    std::vector<surrogate_vec_field> fields;        // with the Vecs at which J is taken
    std::vector<surrogate_vec_field> varied;        // those in the first Vec
    std::vector<std::pair<Vec, Vec>> own_of_given;  // of outputs

    ~Side() {
        for (surrogate_vec_field& field : fields) std::ignore = VecDestroy(&field.vec);
    }
    Vec first() const { return fields.front().vec; }
    VecList varied_in(Vec vec, bool is_input) {
        for (surrogate_vec_field& field : varied) field.vec = vec;
        const auto n = static_cast<PetscInt>(varied.size());
        return is_input ? VecList{n, 0, varied.data(), nullptr}
                        : VecList{0, n, nullptr, varied.data()};
    }
};

struct Jacobian {
    surrogate_plan* plan = nullptr;
    Side in, out;

    VecList at(bool with_outputs) const {
        return {static_cast<PetscInt>(in.fields.size()),
                with_outputs ? static_cast<PetscInt>(out.fields.size()) : 0, in.fields.data(),
                out.fields.data()};
    }
};

/// Copies fields. Inputs refer to the caller's Vecs, outputs to Vecs like them, one for each.
PetscErrorCode copy_fields(PetscInt n, const surrogate_vec_field given[], bool is_input,
                           Side* side) {
    PetscFunctionBegin;
    for (PetscInt i = 0; i < n; ++i) {
        PetscCheck(given[i].vec && given[i].name, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL,
                   "a surrogate_vec_field of the Mat has no %s", given[i].vec ? "name" : "Vec");
        side->names.emplace_back(given[i].name);
        side->units.emplace_back(given[i].unit ? given[i].unit : "");
    }
    for (PetscInt i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>(i);
        surrogate_vec_field field = given[i];
        field.name = side->names[at].c_str();
        field.unit = given[i].unit ? side->units[at].c_str() : nullptr;
        // Vecs of products need not have the block size of the caller's.
        if (field.n_component == 0) PetscCall(VecGetBlockSize(field.vec, &field.n_component));
        if (is_input) {
            PetscCall(PetscObjectReference(reinterpret_cast<PetscObject>(field.vec)));
        } else {
            Vec own = nullptr;
            for (const auto& [of, copy] : side->own_of_given)
                if (of == given[i].vec) own = copy;
            if (own) {
                PetscCall(PetscObjectReference(reinterpret_cast<PetscObject>(own)));
            } else {
                PetscCall(VecDuplicate(given[i].vec, &own));
                side->own_of_given.emplace_back(given[i].vec, own);
            }
            field.vec = own;
        }
        side->fields.push_back(field);
        if (given[i].vec == given[0].vec) side->varied.push_back(field);
    }
    PetscFunctionReturn(0);
}

PetscErrorCode shell_of(Mat mat, Jacobian** jacobian) {
    return MatShellGetContext(mat, static_cast<void*>(jacobian));
}

/// Sets `to` to zero and calls multiply(jacobian), which writes the fields of the plan. The plan
/// keeps no array.
template <class Multiply>
PetscErrorCode product(Mat mat, Vec to, const Multiply& multiply) {
    PetscFunctionBegin;
    Jacobian* j = nullptr;
    PetscCall(shell_of(mat, &j));
    PetscLogEvent event = 0;
    PetscCall(find_event("SurrRun", &event));
    EventScope scope(event);
    PetscCall(VecSet(to, 0));
    surrogate_plan_unbind(j->plan);
    const PetscErrorCode error = multiply(*j);
    surrogate_plan_unbind(j->plan);
    PetscCall(error);
    PetscFunctionReturn(0);
}

/// y = J v
PetscErrorCode multiply(Mat mat, Vec v, Vec y) {
    return product(mat, y, [&](Jacobian& j) {
        const auto run = [&]() -> PetscErrorCode {
            PetscFunctionBegin;
            PetscCallSurrogate(surrogate_plan_run_tangent(j.plan));
            PetscFunctionReturn(0);
        };
        const auto with_result = [&] {
            return lend(j.plan, j.out.varied_in(y, false), surrogate_plan_bind_input_tangent,
                        surrogate_plan_bind_output_tangent, false, run);
        };
        const auto with_direction = [&] {
            return lend(j.plan, j.in.varied_in(v, true), surrogate_plan_bind_input_tangent,
                        surrogate_plan_bind_output_tangent, false, with_result);
        };
        return lend(j.plan, j.at(false), surrogate_plan_bind_input, surrogate_plan_bind_output,
                    false, with_direction);
    });
}

/// g = J^T w
PetscErrorCode multiply_transposed(Mat mat, Vec w, Vec g) {
    return product(mat, g, [&](Jacobian& j) {
        const auto run = [&]() -> PetscErrorCode {
            PetscFunctionBegin;
            const surrogate_status ran = surrogate_plan_run(j.plan);
            if (ran != SURROGATE_SUCCESS) {
                const std::string text = surrogate_error(nullptr);
                surrogate_plan_run_backward(j.plan);  // the other ranks may be there
                SETERRQ(PETSC_COMM_SELF, surrogate_petsc_error_code(ran), "%s", text.c_str());
            }
            PetscCallSurrogate(surrogate_plan_run_backward(j.plan));
            PetscFunctionReturn(0);
        };
        const auto with_gradient = [&] {
            return lend(j.plan, j.in.varied_in(g, false), surrogate_plan_bind_output_gradient,
                        surrogate_plan_bind_input_gradient, true, run);
        };
        const auto with_weights = [&] {
            return lend(j.plan, j.out.varied_in(w, true), surrogate_plan_bind_output_gradient,
                        surrogate_plan_bind_input_gradient, true, with_gradient);
        };
        return lend(j.plan, j.at(true), surrogate_plan_bind_input, surrogate_plan_bind_output, true,
                    with_weights);
    });
}

PetscErrorCode destroy(Mat mat) {
    PetscFunctionBegin;
    Jacobian* j = nullptr;
    PetscCall(shell_of(mat, &j));
    delete j;
    PetscFunctionReturn(0);
}

using Operation = void (*)(void);

PetscErrorCode create(surrogate_plan* plan, PetscInt n_in, const surrogate_vec_field in[],
                      PetscInt n_out, const surrogate_vec_field out[], Mat* mat) {
    PetscFunctionBegin;
    auto jacobian = std::make_unique<Jacobian>();
    jacobian->plan = plan;
    PetscCall(copy_fields(n_in, in, true, &jacobian->in));
    PetscCall(copy_fields(n_out, out, false, &jacobian->out));
    PetscInt n_row = 0, n_column = 0;
    PetscCall(VecGetLocalSize(jacobian->out.first(), &n_row));
    PetscCall(VecGetLocalSize(jacobian->in.first(), &n_column));
    const MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(jacobian->in.first()));
    PetscCall(MatCreateShell(comm, n_row, n_column, PETSC_DETERMINE, PETSC_DETERMINE,
                             jacobian.get(), mat));
    jacobian.release();
    PetscCall(MatShellSetOperation(*mat, MATOP_DESTROY, reinterpret_cast<Operation>(destroy)));
    PetscCall(MatShellSetOperation(*mat, MATOP_MULT, reinterpret_cast<Operation>(multiply)));
    PetscCall(MatShellSetOperation(*mat, MATOP_MULT_TRANSPOSE,
                                   reinterpret_cast<Operation>(multiply_transposed)));
    PetscFunctionReturn(0);
}

}  // namespace

}  // namespace surrogate::petsc

extern "C" PetscErrorCode surrogate_plan_create_mat(surrogate_plan* plan, PetscInt n_in,
                                                    const surrogate_vec_field in[], PetscInt n_out,
                                                    const surrogate_vec_field out[], Mat* J) {
    PetscFunctionBegin;
    PetscCheck(plan && in && out && J, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL,
               "plan, in, out or J is NULL");
    PetscCheck(n_in > 0 && n_out > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "the Mat has %" PetscInt_FMT " inputs and %" PetscInt_FMT
               " outputs, expected at least 1 each",
               n_in, n_out);
    char gradients[16];
    int64_t size = sizeof gradients;
    PetscCallSurrogate(surrogate_plan_option(plan, "gradients", gradients, &size));
    PetscCheck(std::string(gradients) == "inputs", PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "option 'gradients' is %s, expected inputs; create the plan with gradients=inputs",
               gradients);
    try {
        PetscCall(surrogate::petsc::create(plan, n_in, in, n_out, out, J));
    } catch (const std::bad_alloc&) {
        SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for the fields of the Mat");
    }
    PetscFunctionReturn(0);
}
