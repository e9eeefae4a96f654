// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

namespace airflow {

PetscErrorCode print_problem(MPI_Comm comm, const Predictor& predictor) {
    PetscFunctionBegin;
    if (!predictor.is_ready() && !predictor.problem().empty())
        PetscCall(PetscPrintf(comm,
                              "surrogate not available: %s\nThe solver continues without it.\n",
                              predictor.problem().c_str()));
    PetscFunctionReturn(0);
}

PetscErrorCode print_head(MPI_Comm comm, const Settings& settings, const Predictor& predictor) {
    PetscFunctionBegin;
    PetscMPIInt size = 0;
    PetscCallMPI(MPI_Comm_size(comm, &size));
    PetscCall(PetscPrintf(
        comm, "Air around car-like bodies: about %d points and %d panels each, %d rank%s\n",
        int(settings.n_point), int(settings.n_panel), size, size == 1 ? "" : "s"));
    if (predictor.is_ready())
        PetscCall(PetscPrintf(comm, "Surrogate: %s\n", settings.model.c_str()));
    PetscCall(print_problem(comm, predictor));
    PetscCall(PetscPrintf(comm, "\n%6s %8s %5s %9s %8s %13s %8s %8s %17s %17s\n", "seed", "points",
                          "its", "solver[s]", "plan[s]", "surrogate[s]", "error", "largest",
                          "drag [m^2]", "lift [m^2]"));
    PetscFunctionReturn(0);
}

PetscErrorCode print_row(MPI_Comm comm, const Result& r) {
    PetscFunctionBegin;
    PetscCall(PetscPrintf(comm, "%6lld %8lld %5d %9.3f", static_cast<long long>(r.seed),
                          static_cast<long long>(r.n_point), int(r.n_iteration), r.seconds_solver));
    if (!r.is_compared) {
        PetscCall(PetscPrintf(comm, " %8s %13s %8s %8s %8.4f %8s %8.4f\n", "-", "-", "-", "-",
                              r.force_solver.x, "-", r.force_solver.z));
        PetscFunctionReturn(0);
    }
    PetscCall(PetscPrintf(comm, " %8.3f %13.3f %6.2f %% %8.2f %8.4f %8.4f %8.4f %8.4f\n",
                          r.seconds_plan, r.seconds_surrogate, 100 * r.relative_error,
                          r.largest_error, r.force_solver.x, r.force_surrogate.x, r.force_solver.z,
                          r.force_surrogate.z));
    if (r.fraction_outside > 0.01)
        PetscCall(PetscPrintf(comm, "       %.0f %% of its points are outside the training data\n",
                              100 * r.fraction_outside));
    PetscFunctionReturn(0);
}

PetscErrorCode print_end(MPI_Comm comm, const std::vector<Result>& results) {
    PetscFunctionBegin;
    double sum = 0, n = 0;
    for (const Result& result : results) {
        sum += result.relative_error;
        n += result.is_compared ? 1 : 0;
    }
    if (n > 1) PetscCall(PetscPrintf(comm, "mean error %.2f %%\n", 100 * sum / n));
    PetscCall(PetscPrintf(comm,
                          "\nPressure coefficient on the surface by the panel solver (its: "
                          "iterations; seconds: panels and\n"
                          "points) and by the surrogate. error: relative L2 distance over the "
                          "points; largest: of a point;\n"
                          "drag, lift: force / dynamic pressure by the solver, then by the "
                          "surrogate. A flow without\n"
                          "friction has no drag: the drag of the solver is its error.\n"));
    PetscFunctionReturn(0);
}

}  // namespace airflow
