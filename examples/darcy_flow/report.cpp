// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <cmath>

namespace darcy {

namespace {

/// Distance of a run from the reference at its end.
struct Distance {
    PetscReal c_largest = 0, c_mean = 0;  // of |c - c_ref|, which is in 0 .. 1
    PetscReal p_relative = 0;             // L2 norm of p - p_ref relative to p_ref
};

PetscErrorCode measure(const Result& result, const Result& reference, Distance* distance) {
    PetscFunctionBegin;
    OwnedVec difference;
    PetscInt n_cell = 0;
    PetscReal sum = 0, error = 0, norm = 0;
    PetscCall(VecDuplicate(result.c, difference.out()));
    PetscCall(VecGetSize(result.c, &n_cell));
    PetscCall(VecWAXPY(difference, -1, reference.c, result.c));
    PetscCall(VecNorm(difference, NORM_INFINITY, &distance->c_largest));
    PetscCall(VecNorm(difference, NORM_1, &sum));
    PetscCall(VecWAXPY(difference, -1, reference.p, result.p));
    PetscCall(VecNorm(difference, NORM_2, &error));
    PetscCall(VecNorm(reference.p, NORM_2, &norm));
    distance->c_mean = sum / PetscReal(n_cell);
    distance->p_relative = error / norm;
    PetscFunctionReturn(0);
}

PetscErrorCode print_row(MPI_Comm comm, const Result& r, const Result* reference) {
    PetscFunctionBegin;
    PetscCall(PetscPrintf(comm, "%-31s %5d %10d %10.3f %12.3f", r.way->title, int(r.n_step),
                          int(r.n_iteration), r.seconds_solver, r.seconds_surrogate));
    if (reference && reference != &r) {
        Distance d;
        PetscCall(measure(r, *reference, &d));
        PetscCall(PetscPrintf(comm, " %10.1e %10.1e %10.1e", double(d.c_largest), double(d.c_mean),
                              double(d.p_relative)));
    } else {
        PetscCall(PetscPrintf(comm, " %10s %10s %10s", "-", "-", "-"));
    }
    PetscCall(PetscPrintf(comm, " %9.1e %9.1e\n", double(r.mass_error()),
                          double(r.clipped / r.injected)));
    if (r.n_fallback > 0)
        PetscCall(PetscPrintf(comm, "  (%d of its steps were solved without the surrogate)\n%s\n",
                              int(r.n_fallback), r.guards.c_str()));
    PetscFunctionReturn(0);
}

/// Iterations of a run, and its seconds in solver and surrogate.
struct Cost {
    int n_iteration;
    double seconds;
};

}  // namespace

PetscErrorCode print_table(MPI_Comm comm, const std::vector<Result>& results,
                           const Result* reference) {
    PetscFunctionBegin;
    PetscCall(PetscPrintf(comm, "%-31s %5s %10s %10s %12s %10s %10s %10s %9s %9s\n",
                          "pressure from", "steps", "iterations", "solves [s]", "surrogate[s]",
                          "c largest", "c mean", "p", "mass", "clipped"));
    for (const Result& result : results) PetscCall(print_row(comm, result, reference));
    if (reference)
        PetscCall(PetscPrintf(comm,
                              "\nc largest, mean: |c - c of '%s'| at the end; p: relative L2 norm "
                              "of the difference of "
                              "the last pressures.\n",
                              reference->way->title));
    PetscCall(PetscPrintf(comm,
                          "mass: (fluid that left - fluid injected) / fluid injected; clipped: "
                          "volume removed to keep c in [0, 1], relative to the injected fluid.\n"));
    PetscFunctionReturn(0);
}

PetscErrorCode print_tolerance_study(FlowSolver& solver, Vec initial, PetscInt n_step,
                                     PetscReal dt) {
    PetscFunctionBegin;
    const MPI_Comm comm = solver.grid().comm();
    PetscReal tolerance = 0;  // set by the caller
    PetscCall(solver.pressure_solver().tolerance(&tolerance));
    PetscCall(PetscPrintf(comm,
                          "\nSavings by a good initial guess: linear iterations of all steps, and "
                          "seconds in solves and "
                          "surrogate\n%9s %18s %18s %18s   %s\n",
                          "tolerance", "from zero", "from previous", "from surrogate",
                          "surrogate against previous"));
    for (const PetscReal rtol : {1e-4, 1e-6, 1e-8, 1e-10}) {
        PetscCall(solver.pressure_solver().set_tolerance(rtol));
        PetscCall(PetscPrintf(comm, "%9.0e", double(rtol)));
        Cost cost[3];
        for (int k = 0; k < 3; ++k) {
            Result r;
            PetscCall(solver.run(ways[k], initial, n_step, dt, nullptr, &r));
            cost[k] = {int(r.n_iteration), r.seconds_solver + r.seconds_surrogate};
            PetscCall(PetscPrintf(comm, " %8d %7.3f s", cost[k].n_iteration, cost[k].seconds));
        }
        PetscCall(PetscPrintf(comm, "   %+d iterations, %+.3f s\n",
                              cost[2].n_iteration - cost[1].n_iteration,
                              cost[2].seconds - cost[1].seconds));
    }
    PetscCall(solver.pressure_solver().set_tolerance(tolerance));
    PetscFunctionReturn(0);
}

}  // namespace darcy
