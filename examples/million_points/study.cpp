// SPDX-License-Identifier: Apache-2.0
#include "study.hpp"

#include <algorithm>
#include <bit>

#include "process.hpp"
#include "random.hpp"

namespace million {

PetscErrorCode Study::create(MPI_Comm comm, const std::string& model, bool is_weighted) {
    PetscFunctionBegin;
    comm_ = comm;
    is_weighted_ = is_weighted;
    PetscCallMPI(MPI_Comm_rank(comm, &rank_));
    if (!model.empty()) PetscCall(predictor_.create(comm, model));
    PetscFunctionReturn(0);
}

PetscErrorCode Study::seconds_since(double begin, double* seconds) const {
    PetscFunctionBegin;
    *seconds = MPI_Wtime() - begin;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, comm_));
    PetscFunctionReturn(0);
}

/// Runs work on rank 0 only; its exception becomes an error of all ranks.
PetscErrorCode Study::on_first(const std::function<void()>& work) const {
    PetscFunctionBegin;
    char text[512] = "";
    if (rank_ == 0) try {
            work();
        } catch (const std::exception& problem) {
            PetscCall(PetscStrncpy(text, problem.what(), sizeof text));
        }
    PetscCallMPI(MPI_Bcast(text, sizeof text, MPI_CHAR, 0, comm_));
    PetscCheck(!*text, comm_, PETSC_ERR_FILE_UNEXPECTED, "%s", text);
    PetscFunctionReturn(0);
}

PetscErrorCode Study::read_whole(const std::string& path, WholeMesh* whole, Result* result) {
    PetscFunctionBegin;
    const int64_t before = bytes_read();
    const double begin = MPI_Wtime();
    PetscCall(on_first([&] { *whole = read_mesh(path); }));
    result->mine.bytes_read = before < 0 ? -1 : bytes_read() - before;
    PetscCall(seconds_since(begin, &result->seconds_read));
    PetscFunctionReturn(0);
}

PetscErrorCode Study::spread(const WholeMesh& whole, Result* result) {
    PetscFunctionBegin;
    const double begin = MPI_Wtime();
    PetscCall(mesh_.distribute(comm_, whole));
    PetscCall(seconds_since(begin, &result->seconds_part));
    PetscCall(mesh_.n_whole(&result->n_point, &result->n_cell));
    result->mine.n_owned = mesh_.n_owned();
    result->mine.n_cell = mesh_.n_cell();
    PetscFunctionReturn(0);
}

PetscErrorCode Study::make(int64_t seed, int64_t n_point, const std::string& path, Result* result) {
    PetscFunctionBegin;
    WholeMesh whole;
    result->name = std::to_string(seed);
    const double begin = MPI_Wtime();
    PetscCall(on_first([&] {
        whole = make_mesh(random_plate(uint64_t(seed)), n_point, uint64_t(seed));
        if (!path.empty()) write_mesh(path, whole);
    }));
    PetscCall(seconds_since(begin, &result->seconds_make));
    if (!path.empty()) {
        whole = {};
        PetscCall(read_whole(path, &whole, result));
    }
    PetscCall(spread(whole, result));
    PetscFunctionReturn(0);
}

PetscErrorCode Study::read(const std::string& path, Result* result) {
    PetscFunctionBegin;
    WholeMesh whole;
    result->name = "file";
    PetscCall(read_whole(path, &whole, result));
    PetscCall(spread(whole, result));
    PetscFunctionReturn(0);
}

PetscErrorCode Study::solve(Result* result) {
    PetscFunctionBegin;
    const double begin = MPI_Wtime();
    PetscCall(mesh_.new_field(&temperature_));
    PetscCall(solve_heat(mesh_, Concrete(), temperature_, &result->n_iteration));
    PetscCall(VecMax(temperature_, nullptr, &result->hottest_solver));
    PetscCall(seconds_since(begin, &result->seconds_solve));
    PetscFunctionReturn(0);
}

/// Creates and runs the plan, and measures its memory.
PetscErrorCode Study::run(Result* result) {
    PetscFunctionBegin;
    PetscCall(mesh_.new_field(&prediction_));
    PetscCall(mesh_.new_field(&error_));
    PetscCall(VecSet(prediction_, 0));
    PetscCall(VecSet(error_, 0));
    release_free_memory();
    const int64_t before = memory_now();
    double begin = MPI_Wtime();
    PetscCall(predictor_.plan(mesh_, is_weighted_));
    PetscCall(seconds_since(begin, &result->seconds_plan));
    if (!predictor_.is_ready()) PetscFunctionReturn(0);
    begin = MPI_Wtime();
    PetscCall(predictor_.predict(prediction_));
    PetscCall(seconds_since(begin, &result->seconds_predict));
    if (!predictor_.is_ready()) PetscFunctionReturn(0);
    release_free_memory();
    result->mine.plan_found = before < 0 ? -1 : memory_now() - before;
    result->mine.plan_stated = predictor_.plan_bytes();
    PetscFunctionReturn(0);
}

PetscErrorCode Study::hash(uint64_t* value) const {
    PetscFunctionBegin;
    const PetscScalar* predicted = nullptr;
    *value = 0;
    PetscCall(VecGetArrayRead(prediction_, &predicted));
    for (std::size_t i = 0; i < mesh_.owned().size(); ++i) {
        const auto id = uint64_t(mesh_.id()[std::size_t(mesh_.owned()[i])]);
        *value += mixed(mixed(id) ^ std::bit_cast<uint64_t>(double(predicted[i])));
    }
    PetscCall(VecRestoreArrayRead(prediction_, &predicted));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_UINT64_T, MPI_SUM, comm_));
    PetscFunctionReturn(0);
}

PetscErrorCode Study::measure(Result* result) {
    PetscFunctionBegin;
    PetscReal error = 0, whole = 0;
    PetscCall(VecWAXPY(error_, -1, temperature_, prediction_));
    PetscCall(VecNorm(error_, NORM_2, &error));
    PetscCall(VecNorm(temperature_, NORM_2, &whole));
    result->relative_error = error / whole;
    PetscCall(VecNorm(error_, NORM_INFINITY, &result->largest_error));
    PetscCall(VecMax(prediction_, nullptr, &result->hottest_surrogate));
    PetscCall(predictor_.fraction_outside(&result->fraction_outside));
    PetscCall(hash(&result->hash));
    PetscFunctionReturn(0);
}

PetscErrorCode Study::compare(Result* result) {
    PetscFunctionBegin;
    if (predictor_.is_ready()) PetscCall(run(result));
    result->is_compared = predictor_.is_ready();
    if (result->is_compared) PetscCall(measure(result));
    result->mine.peak = memory_peak();
    PetscFunctionReturn(0);
}

}  // namespace million
