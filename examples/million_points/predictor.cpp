// SPDX-License-Identifier: Apache-2.0
#include "predictor.hpp"

#include <surrogate/surrogate_petsc.h>

#include <algorithm>

namespace million {

/// Runs `work`, whose errors are the same on all ranks. An error is neither printed nor thrown:
/// problem_ has its text, and the model is released. A failed MPI call is returned, because other
/// ranks may wait in it.
PetscErrorCode Predictor::attempt(const std::function<PetscErrorCode()>& work) {
    PetscFunctionBegin;
    problem_.clear();
    PetscErrorCode error = 0;
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr));
    try {
        error = work();
        if (error) {
            char* text = nullptr;
            std::ignore = PetscErrorMessage(error, nullptr, &text);
            problem_ = text && *text ? text : "unknown error";
        }
    } catch (const surrogate::Error& failure) {
        problem_ = failure.what();
        error = surrogate_petsc_error_code(failure.status());
    }
    PetscCall(PetscPopErrorHandler());
    PetscCheck(error != PETSC_ERR_MPI, PETSC_COMM_SELF, error, "%s", problem_.c_str());
    if (!problem_.empty()) model_.reset();
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::create(MPI_Comm comm, const std::string& path) {
    PetscFunctionBegin;
    PetscBool is_said = PETSC_FALSE;
    PetscCall(PetscOptionsHasName(nullptr, nullptr, "-surrogate_reproducible", &is_said));
    if (!is_said) PetscCall(PetscOptionsSetValue(nullptr, "-surrogate_reproducible", "true"));
    PetscCall(attempt([&]() -> PetscErrorCode {
        PetscFunctionBegin;
        surrogate_context* context = nullptr;
        PetscCall(surrogate_context_create_petsc(comm, nullptr, &context));
        context_.emplace(context);
        model_.emplace(*context_, path);
        PetscFunctionReturn(0);
    }));
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::plan(const Mesh& mesh, bool is_weighted) {
    PetscFunctionBegin;
    PetscScalar* distance = nullptr;
    std::vector<Position> places;
    std::vector<int64_t> ids;
    std::vector<double> areas, weights;
    if (is_weighted) PetscCall(mesh.areas(&areas));
    PetscCall(mesh.new_field(&distance_));
    PetscCall(VecGetArrayWrite(distance_, &distance));
    for (const PetscInt point : mesh.owned()) {
        distance[places.size()] = mesh.distance()[std::size_t(point)];
        places.push_back(mesh.coordinates()[std::size_t(point)]);
        ids.push_back(mesh.id()[std::size_t(point)]);
        if (is_weighted) weights.push_back(areas[std::size_t(point)]);
    }
    PetscCall(VecRestoreArrayWrite(distance_, &distance));
    PetscCall(attempt([&]() -> PetscErrorCode {
        plan_.reset();
        domain_.reset();
        static_assert(sizeof(Position) == 2 * sizeof(double));
        const double none[2] = {};  // for a rank that owns no point
        const double* const x = places.empty() ? none : &places.data()->x;
        domain_.emplace(*context_, surrogate_points{surrogate::matrix(x, mesh.n_owned(), 2),
                                                    ids.data(), nullptr, weights.data()});
        plan_.emplace(*model_, *domain_);
        return 0;
    }));
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::predict(Vec temperature) {
    PetscFunctionBegin;
    const surrogate_vec_field in = {"distance", "m", distance_, 0, 1};
    const surrogate_vec_field out = {"temperature", "K", temperature, 0, 1};
    PetscCall(attempt([&] { return surrogate_plan_run_vec(plan_->get(), 1, &in, 1, &out); }));
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::fraction_outside(double* fraction) const {
    PetscFunctionBegin;
    *fraction = 0;
    const auto n_input = static_cast<int32_t>(model_->inputs().size());
    for (int32_t input = 0; input < n_input; ++input) {
        const surrogate_range_info info = plan_->range(input);
        double counts[2] = {double(info.n_outside), double(info.n_points)};
        context_->reduce(SURROGATE_SUM, 2, counts);
        *fraction = std::max(*fraction, counts[0] / counts[1]);
    }
    PetscFunctionReturn(0);
}

}  // namespace million
