// SPDX-License-Identifier: Apache-2.0
// A jet on a rotating sphere: a spectral shallow-water solver on MPI ranks and, beside it or
// instead of it, a trained emulator of one hour (attention on the sphere).
//
// Build, with libsurrogate installed in PREFIX (or in its own build tree, where this program is
// build/bin/shallow_water):
//     cmake -S examples/shallow_water -B build-swe -DCMAKE_PREFIX_PATH=PREFIX
//     cmake --build build-swe
//
// Sample runs:
//     mpirun -n 2 shallow_water -output out                    emulator beside solver for a day,
//                                                              out/*.pvd, out/vorticity.png
//     mpirun -n 2 shallow_water -initial perturbed -seed 3     from a state as in its training
//     mpirun -n 4 shallow_water -step surrogate -days 3 -check_every 3
//                                                              the emulator until its guards reject
//                                                              it, then the solver
//     mpirun -n 4 shallow_water -step solver -days 6 -nlat 128 -nlon 256 -L 43
//                                                              the solver alone, finer
//     shallow_water -days 2 -save day2; shallow_water -restart day2
//                                                              continues, bitwise identical
//     mpirun -n 2 shallow_water -data hours.h5                 a training set like the model's: 20
//                                                              runs of 6 days
//     shallow_water -help                                      all options
//
// Prints a line about the run, then the table: errors of the emulator against the solver by lead
// time, and errors of an unchanged initial state; drift of mass and energy of both; seconds per
// simulated day of both. Exit status: 0, 1 if a run failed, 2 for invalid arguments.
//
// The coupling is in emulator.cpp (all calls of libsurrogate except those that write files) and
// forecast.cpp (the hours).
#include <cstdio>
#include <memory>

#include "data.hpp"
#include "emulator.hpp"
#include "forecast.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "stop.hpp"

namespace shallow_water {

namespace {

/// Creates the emulator. Without one, the solver continues alone; *problem has the reason.
std::unique_ptr<Emulator> make_emulator(const Settings& settings, Solver& solver,
                                        std::string* problem) {
    if (settings.step == Step::solver) return nullptr;
    try {
        return std::make_unique<Emulator>(solver.layout(), solver.transform().latitudes(),
                                          settings.model);
    } catch (const surrogate::Error& error) {
        if (is_lost(error)) throw;
        *problem = error.what();
        return nullptr;
    }
}

void program(MPI_Comm comm, const Settings& settings) {
    Solver solver(Layout(comm, settings.resolution), settings.dt_s, settings.official_rounding);
    if (!settings.data.empty()) return make_data(settings, solver);
    std::string problem;
    const std::unique_ptr<Emulator> emulator = make_emulator(settings, solver, &problem);
    Forecast forecast(settings, solver, emulator.get());
    forecast.begin();
    print_head(settings, solver.layout(), emulator.get(), problem);
    forecast.go();
    print_report(settings, solver.layout(), forecast.record());
    if (!settings.save.empty()) save(solver, forecast.progress(), settings.save);
}

int guarded(MPI_Comm comm, int argc, char** argv) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    const auto tell = [&](const std::exception& error) {
        if (rank == 0) std::fprintf(stderr, "shallow_water: %s\n", error.what());
    };
    try {
        const Settings settings = Settings::read({argv + 1, argv + argc});
        if (!settings.asks_for_help)
            program(comm, settings);
        else if (rank == 0)
            std::fputs(Settings::help().c_str(), stdout);
        return 0;
    } catch (const std::invalid_argument& error) {  // invalid arguments are the same on every rank
        tell(error);
        return 2;
    } catch (const Stop& error) {
        tell(error);
        return 1;
    } catch (const std::exception& error) {  // of this rank only: others may wait for it
        std::fprintf(stderr, "shallow_water, rank %d: %s\n", rank, error.what());
        MPI_Abort(comm, 1);
    }
    return 1;
}

}  // namespace

}  // namespace shallow_water

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int status = shallow_water::guarded(MPI_COMM_WORLD, argc, argv);
    MPI_Finalize();
    return status;
}
