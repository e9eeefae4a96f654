// SPDX-License-Identifier: Apache-2.0
#include "predictor.hpp"

#include <surrogate/surrogate_petsc.h>

#include <algorithm>

#include "feature.hpp"

namespace airflow {

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

PetscErrorCode Predictor::set_features(const Surface& surface) {
    PetscFunctionBegin;
    PetscScalar* values = nullptr;
    PetscCall(VecCreate(surface.comm(), features_.out()));
    PetscCall(VecSetSizes(features_, PetscInt(n_feature * surface.n_owned()), PETSC_DETERMINE));
    PetscCall(VecSetBlockSize(features_, n_feature));
    PetscCall(VecSetType(features_, VECSTANDARD));
    PetscCall(VecGetArrayWrite(features_, &values));
    for (int64_t p = 0; p < surface.n_owned(); ++p) {
        const auto features = feature_of(surface.coordinates()[p], surface.normal()[p]);
        std::copy(features.begin(), features.end(), values + n_feature * p);
    }
    PetscCall(VecRestoreArrayWrite(features_, &values));
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::plan(const Surface& surface) {
    PetscFunctionBegin;
    PetscCall(set_features(surface));
    PetscCall(attempt([&]() -> PetscErrorCode {
        plan_.reset();
        domain_.reset();
        // Vector3 is three doubles: the coordinates of the points that this rank owns form a
        // matrix.
        static_assert(sizeof(Vector3) == 3 * sizeof(double));
        domain_.emplace(*context_,
                        surrogate::matrix(&surface.coordinates().data()->x, surface.n_owned(), 3),
                        surface.id().data());
        plan_.emplace(*model_, *domain_);
        return 0;
    }));
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::predict(Vec pressure) {
    PetscFunctionBegin;
    surrogate_vec_field in[n_feature];
    for (int f = 0; f < n_feature; ++f)
        in[f] = {feature_names[f], feature_units[f], features_, f, n_feature};
    const surrogate_vec_field out = {"pressure_coefficient", "1", pressure, 0, 1};
    PetscCall(
        attempt([&] { return surrogate_plan_run_vec(plan_->get(), n_feature, in, 1, &out); }));
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

}  // namespace airflow
