// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "solver.hpp"

namespace shallow_water {

/// Progress of a run: all data that it needs to continue as if it had not stopped.
struct Progress {
    int64_t start_hour = 0, hour = 0;  ///< hour at the start of forecasts; current hour
    Fields initial;                    ///< at the start of forecasts
    bool has_state = false;            ///< of the solver
    State state;
    bool has_emulated = false;  ///< of the emulator
    Fields emulated;
};

/// Stores a run, with the same bytes on any number of ranks. Throws Stop. Collective.
void save(const Solver& solver, const Progress& progress, const std::string& path);

/// Reads a file of save() on any number of ranks. Throws Stop for a missing or truncated file,
/// another kind of file, another resolution or time step. Collective.
Progress restart(const Solver& solver, const std::string& path);

}  // namespace shallow_water
