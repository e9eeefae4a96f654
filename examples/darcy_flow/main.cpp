// SPDX-License-Identifier: Apache-2.0
// Two fluids in a porous square: a flow solver on a PETSc DMDA whose pressure comes from a Krylov
// solver, from a trained FLARE model, or from the solver started at the model's prediction.
//
// Build, with libsurrogate installed in PREFIX (or in its own build tree, where this program is
// build/bin/darcy_flow):
//     cmake -S examples/darcy_flow -B build-darcy -DCMAKE_PREFIX_PATH=PREFIX
//     cmake --build build-darcy
//
// Sample runs:
//     mpirun -n 4 darcy_flow -compare -output out              four variants in one table,
//     out/*.pvd,
//                                                              out/fields.png
//     mpirun -n 4 darcy_flow -guess surrogate -log_view        one run; events SurrPlan and SurrRun
//                                                              in PETSc's log
//     mpirun -n 2 darcy_flow -pressure surrogate -n 80         without any linear solve
//     mpirun -n 4 darcy_flow -tolerances                       savings by initial guesses at 1e-4
//     ..
//                                                              1e-10
//     mpirun -n 2 darcy_flow -pressure surrogate -injected 40  a fluid outside the training data:
//     the
//                                                              guards leave every step to the
//                                                              solver
//     darcy_flow -ksp_rtol 1e-10 -pc_type hypre -ksp_monitor   every option of PETSc works
//     darcy_flow -help                                         the options of this program and of
//                                                              libsurrogate
//
// Prints a line about the run, then the table: steps, linear iterations, seconds in pressure solves
// and in the surrogate, largest and mean error against the solver, mass balance.
//
// The coupling is in surrogate_pressure.cpp (all calls of libsurrogate) and run.cpp (the time
// loop).
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "fluid/directory.hpp"
#include "fluid/initial.hpp"
#include "output.hpp"
#include "report.hpp"
#include "settings.hpp"

namespace darcy {

namespace {

PetscErrorCode set_initial(const Settings& settings, const Grid& grid, OwnedVec* c) {
    PetscFunctionBegin;
    PetscCall(grid.new_vec(c));
    if (settings.initial.empty())
        PetscCall(random_fluid(grid, uint64_t(settings.seed), *c));
    else
        PetscCall(read_fluid(grid, settings.initial.c_str(), *c));
    PetscFunctionReturn(0);
}

PetscErrorCode print_head(const Settings& settings, FlowSolver& solver) {
    PetscFunctionBegin;
    const MPI_Comm comm = solver.grid().comm();
    PetscMPIInt size = 0;
    PetscReal rtol = 0;
    PetscCallMPI(MPI_Comm_size(comm, &size));
    PetscCall(solver.pressure_solver().tolerance(&rtol));
    PetscCall(PetscPrintf(comm,
                          "Two fluids in a porous square: %d x %d cells, %d steps of %g s, %d "
                          "rank%s, pressure to %g\n",
                          int(settings.n), int(settings.n), int(settings.n_step),
                          double(settings.dt_s), size, size == 1 ? "" : "s", double(rtol)));
    if (solver.surrogate().is_ready())
        PetscCall(PetscPrintf(comm, "Surrogate: %s (%s)\n", settings.model.c_str(),
                              solver.surrogate().how().c_str()));
    PetscCall(PetscPrintf(comm, "\n"));
    PetscFunctionReturn(0);
}

/// Performs one run; with a directory, its time series is DIR/<name>.pvd.
PetscErrorCode run_one(const Settings& settings, FlowSolver& solver, const Way& way, Vec initial,
                       const char* name, Result* result) {
    PetscFunctionBegin;
    Output output;
    const bool writes = !settings.output.empty() && name;
    if (writes) PetscCall(output.create(solver.grid(), settings.output, name));
    PetscCall(solver.run(way, initial, settings.n_step, settings.dt_s, writes ? &output : nullptr,
                         result));
    PetscFunctionReturn(0);
}

/// Returns the pressure at the end of a run, as in the last entry of a series.
PetscErrorCode last_pressure(FlowSolver& solver, const Result& result, OwnedVec* p) {
    PetscFunctionBegin;
    OwnedVec a;
    PetscCall(solver.grid().new_vec(&a));
    PetscCall(solver.grid().new_vec(p));
    PetscCall(solver.pressure_at_end(result, a, *p));
    PetscFunctionReturn(0);
}

/// Returns "After 24 steps, 0.48 s, on 64 x 64 cells".
std::string heading_of(const Settings& settings, const Grid& grid) {
    char text[128];
    std::snprintf(text, sizeof text, "After %d steps, %.3g s, on %d x %d cells",
                  int(settings.n_step), double(settings.n_step * settings.dt_s), int(grid.n),
                  int(grid.n));
    return text;
}

/// Draws c of solver and surrogate at the end, their difference, and the two pressures.
PetscErrorCode picture_of(const Settings& settings, FlowSolver& flow, const Result& solver,
                          const Result& other) {
    PetscFunctionBegin;
    OwnedVec difference, p_solver, p_other;
    PetscReal largest = 0, p_max = 0;
    PetscCall(last_pressure(flow, solver, &p_solver));
    PetscCall(last_pressure(flow, other, &p_other));
    PetscCall(VecDuplicate(solver.c, difference.out()));
    PetscCall(VecWAXPY(difference, -1, solver.c, other.c));
    PetscCall(VecNorm(difference, NORM_INFINITY, &largest));
    PetscCall(VecMax(p_solver, nullptr, &p_max));
    largest = std::max<PetscReal>(largest, 1e-12);
    PetscCall(write_picture(
        flow.grid(), settings.output + "/fields.png", heading_of(settings, flow.grid()),
        {{"fluid, solver", "concentration", "1", solver.c, 0, 1, false},
         {"fluid, surrogate", "concentration", "1", other.c, 0, 1, false},
         {"surrogate minus solver", "concentration", "1", difference, -largest, largest, true},
         {"pressure, solver", "pressure", "Pa", p_solver, 0, p_max, false},
         {"pressure, surrogate", "pressure", "Pa", p_other, 0, p_max, false}}));
    PetscCall(PetscPrintf(
        flow.grid().comm(),
        "%s/fields.png: c of '%s' and '%s', their difference (-%.2g .. %.2g), both pressures.\n",
        settings.output.c_str(), solver.way->title, other.way->title, double(largest),
        double(largest)));
    PetscFunctionReturn(0);
}

PetscErrorCode compare(const Settings& settings, FlowSolver& solver, Vec initial) {
    PetscFunctionBegin;
    const MPI_Comm comm = solver.grid().comm();
    const char* const series[4] = {"solver", nullptr, nullptr, "surrogate"};
    std::vector<Result> results;
    for (int k = 0; k < 4; ++k) {
        if (ways[k].needs_surrogate() && !solver.surrogate().is_ready()) continue;
        PetscCall(PetscPrintf(comm, "running: %s\n", ways[k].title));
        results.emplace_back();
        PetscCall(run_one(settings, solver, ways[k], initial, series[k], &results.back()));
    }
    PetscCall(PetscPrintf(comm, "\n"));
    PetscCall(print_table(comm, results, &results.front()));
    if (!settings.output.empty())
        PetscCall(picture_of(settings, solver, results.front(), results.back()));
    PetscFunctionReturn(0);
}

PetscErrorCode run_single(const Settings& settings, FlowSolver& solver, Vec initial) {
    PetscFunctionBegin;
    std::vector<Result> results(1);
    PetscCall(run_one(settings, solver, settings.way, initial, settings.way.name, &results[0]));
    PetscCall(print_table(solver.grid().comm(), results, nullptr));
    if (!settings.output.empty()) {
        OwnedVec p;
        PetscCall(last_pressure(solver, results[0], &p));
        PetscCall(write_picture(solver.grid(), settings.output + "/fields.png",
                                heading_of(settings, solver.grid()),
                                {{"fluid", "concentration", "1", results[0].c, 0, 1, false},
                                 {"pressure", "pressure", "Pa", p, 0, 0, false}}));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode program(MPI_Comm comm) {
    PetscFunctionBegin;
    Settings settings;
    PetscCall(settings.read(comm));
    if (!settings.output.empty()) PetscCall(make_directory(comm, settings.output));
    FlowSolver solver;
    solver.mobilities = settings.mobilities;
    PetscCall(solver.create(comm, settings.n, settings.model.c_str()));
    OwnedVec initial;
    PetscCall(set_initial(settings, solver.grid(), &initial));
    PetscCall(print_head(settings, solver));
    if (settings.compare)
        PetscCall(compare(settings, solver, initial));
    else if (!settings.tolerances)
        PetscCall(run_single(settings, solver, initial));
    if (settings.tolerances)
        PetscCall(print_tolerance_study(solver, initial, settings.n_step, settings.dt_s));
    if (settings.compare || settings.tolerances)
        PetscCall(PetscPrintf(comm,
                              "\nMultigrid is cheap for this equation: the point is the coupling, "
                              "not a speed-up.\n"));
    PetscFunctionReturn(0);
}

}  // namespace

}  // namespace darcy

int main(int argc, char** argv) {
    PetscCall(PetscInitialize(
        &argc, &argv, nullptr,
        "Two fluids in a porous square, with a trained surrogate for the pressure.\n"));
    const PetscErrorCode error = darcy::program(PETSC_COMM_WORLD);
    if (error) MPI_Abort(PETSC_COMM_WORLD, int(error));
    PetscCall(PetscFinalize());
    return 0;
}
