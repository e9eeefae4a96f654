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

/// Method for the pressure of a step.
struct Way {
    const char* name;   ///< of files
    const char* title;  ///< of the table
    bool surrogate_alone;
    Guess guess;  ///< initial guess of the solve, unless the surrogate replaces it

    bool needs_surrogate() const { return surrogate_alone || guess == Guess::surrogate; }
};

inline constexpr Way ways[4] = {
    {"zero", "solver, from zero", false, Guess::zero},
    {"previous", "solver, from previous pressure", false, Guess::previous},
    {"surrogate_guess", "solver, from surrogate", false, Guess::surrogate},
    {"surrogate", "surrogate alone", true, Guess::previous},
};

/// Results of a run. Times are maxima over the ranks.
struct Result {
    const Way* way = nullptr;
    PetscInt n_step = 0, n_iteration = 0;
    PetscInt n_fallback =
        0;  ///< steps in which the surrogate had no prediction and the solver continued alone
    double seconds_solver = 0, seconds_surrogate = 0;
    PetscReal injected = 0, left = 0, clipped = 0,
              imbalance = 0;  ///< as in TransportReport, of all steps
    PetscReal dt = 0;
    std::string guards;  ///< results of the surrogate's guards: a table, or ""
    OwnedVec c, p;       ///< concentration at the end, pressure of the last step

    /// Returns the volume of fluid that appeared or vanished, relative to the injected volume.
    PetscReal mass_error() const;
};

/// The flow solver: computes mobility from c, pressure from mobility, and advances c with the
/// pressure.
class FlowSolver {
public:
    /// Creates the solver. model: path of the surrogate's file. If the file cannot be used, this is
    /// reported and the solver runs without it.
    PetscErrorCode create(MPI_Comm comm, PetscInt n, const char* model);

    /// Mobilities of the fluids of later runs.
    Mobilities mobilities;

    const Grid& grid() const { return grid_; }
    PressureSolver& pressure_solver() { return pressure_; }
    const SurrogatePressure& surrogate() const { return surrogate_; }

    /// Advances from `initial` by n_step steps of dt. output, which may be null, gets the state
    /// before each step and the state at the end: n_step + 1 entries.
    PetscErrorCode run(const Way& way, Vec initial, PetscInt n_step, PetscReal dt, Output* output,
                       Result* result);

    /// Computes mobility a and pressure p of the fluid at the end of a run, by the method of the
    /// run. The run itself does not need them: result.p is the pressure of the last step, and
    /// neither its iterations nor its seconds include this call.
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
