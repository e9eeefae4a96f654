// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "fluid/grid.hpp"
#include "fluid/pressure.hpp"
#include "fluid/transport.hpp"
#include "surrogate_pressure.hpp"

namespace darcy {

class Output;

enum class Guess { zero, previous, surrogate };

/// Method by which the pressure of a step is computed.
struct Way {
    const char* name;   ///< of files
    const char* title;  ///< of the table
    bool surrogate_alone;
    Guess guess;  ///< where the solve starts, unless the surrogate replaces it

    bool needs_surrogate() const { return surrogate_alone || guess == Guess::surrogate; }
};

inline constexpr Way ways[4] = {
    {"zero", "solver, from zero", false, Guess::zero},
    {"previous", "solver, from previous pressure", false, Guess::previous},
    {"surrogate_guess", "solver, from surrogate", false, Guess::surrogate},
    {"surrogate", "surrogate alone", true, Guess::previous},
};

/// Results of a run. Times are the slowest rank's.
struct Result {
    const Way* way = nullptr;
    PetscInt n_step = 0, n_iteration = 0;
    PetscInt n_fallback =
        0;  ///< steps in which the surrogate was asked and the solver went on by itself
    double seconds_solver = 0, seconds_surrogate = 0;
    PetscReal injected = 0, left = 0, clipped = 0,
              imbalance = 0;  ///< as in TransportReport, of all steps
    PetscReal dt = 0;
    std::string guards;  ///< what the guards of the surrogate saw: a table, or ""
    OwnedVec c, p;       ///< concentration at the end, pressure of the last step

    /// Fluid that appeared or vanished, of what was injected.
    PetscReal mass_error() const;
};

/// The flow solver: mobility from c, pressure from mobility, c moved by the pressure.
class FlowSolver {
public:
    /// model: path of the surrogate's file. A file that cannot be used is reported and leaves the
    /// solver on its own.
    PetscErrorCode create(MPI_Comm comm, PetscInt n, const char* model);

    /// Parameters of the fluids of later runs.
    Mobilities mobilities;

    const Grid& grid() const { return grid_; }
    PressureSolver& pressure_solver() { return pressure_; }
    const SurrogatePressure& surrogate() const { return surrogate_; }

    /// Steps from `initial` n_step times by dt. output, which may be null, gets the state before
    /// each step and the one at the end: n_step + 1 entries.
    PetscErrorCode run(const Way& way, Vec initial, PetscInt n_step, PetscReal dt, Output* output,
                       Result* result);

    /// Mobility a and pressure p of the fluid at the end of a run, in the way of the run. The run
    /// itself had no use for them: result.p is the pressure that moved the fluid there, and neither
    /// its iterations nor its seconds count this one.
    PetscErrorCode pressure_at_end(const Result& result, Vec a, Vec p);

private:
    PetscErrorCode find_pressure(const Way& way, PetscReal dt, Vec a, Vec p, Result* result);
    PetscErrorCode ask_surrogate(PetscReal dt, Vec a, Result* result, bool* is_done);
    PetscErrorCode share_times(Result* result) const;

    Grid grid_;
    PressureSolver pressure_;
    Transport transport_;
    SurrogatePressure surrogate_;
    OwnedVec prediction_;
};

}  // namespace darcy
