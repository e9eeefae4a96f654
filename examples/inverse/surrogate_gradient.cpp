// SPDX-License-Identifier: Apache-2.0
#include "surrogate_gradient.hpp"

#include <surrogate/surrogate_petsc.h>

#include <algorithm>

namespace inverse {

namespace {

/// Calls the C++ interface; its exceptions become errors of PETSc, because TAO is in C.
template <class Work>
PetscErrorCode attempt(const Work& work) {
    PetscFunctionBegin;
    try {
        work();
    } catch (const surrogate::Error& error) {
        SETERRQ(PETSC_COMM_SELF, surrogate_petsc_error_code(error.status()), "%s", error.what());
    }
    PetscFunctionReturn(0);
}

PetscErrorCode copy(Vec from, std::vector<PetscScalar>* to) {
    PetscFunctionBegin;
    const PetscScalar* values = nullptr;
    PetscCall(VecGetArrayRead(from, &values));
    std::copy_n(values, to->size(), to->begin());
    PetscCall(VecRestoreArrayRead(from, &values));
    PetscFunctionReturn(0);
}

PetscErrorCode copy(const std::vector<PetscScalar>& from, Vec to) {
    PetscFunctionBegin;
    PetscScalar* values = nullptr;
    PetscCall(VecGetArrayWrite(to, &values));
    std::copy(from.begin(), from.end(), values);
    PetscCall(VecRestoreArrayWrite(to, &values));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode SurrogateGradient::create(const darcy::Grid& grid, const std::string& model) {
    PetscFunctionBegin;
    darcy::Box box;
    PetscCall(box.of(grid));
    const PetscInt n = box.size();
    for (std::vector<PetscScalar>* values : {&a_, &p_, &w_, &g_}) values->assign(std::size_t(n), 0);
    surrogate_context* made = nullptr;
    PetscCall(surrogate_context_create_petsc(grid.comm(), nullptr, &made));
    const surrogate::Context context(made);
    surrogate_domain* cells = nullptr;
    PetscCall(surrogate_domain_create_dm(context.get(), grid.da, &cells));
    const surrogate::Domain domain(cells);
    PetscCall(attempt([&] {
        plan_.emplace(surrogate::Model(context, model), domain,
                      surrogate::Options{{"gradients", "inputs"}});
        plan_->bind_input("mobility", surrogate::column(a_.data(), n), "m^2/(Pa s)");
        plan_->bind_output("pressure", surrogate::column(p_.data(), n), "Pa");
        plan_->bind_output_gradient("pressure", surrogate::column(w_.data(), n), "Pa");
        plan_->bind_input_gradient("mobility", surrogate::column(g_.data(), n), "m^2/(Pa s)");
    }));
    PetscFunctionReturn(0);
}

PetscErrorCode SurrogateGradient::pressure(Vec a, Vec p) {
    PetscFunctionBegin;
    PetscCall(copy(a, &a_));
    PetscCall(attempt([&] { plan_->run(); }));
    PetscCall(copy(p_, p));
    PetscFunctionReturn(0);
}

PetscErrorCode SurrogateGradient::gradient(Vec w, Vec g) {
    PetscFunctionBegin;
    PetscCall(copy(w, &w_));
    PetscCall(attempt([&] { plan_->run_backward(); }));
    PetscCall(copy(g_, g));
    PetscFunctionReturn(0);
}

}  // namespace inverse
