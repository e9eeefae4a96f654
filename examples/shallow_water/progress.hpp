// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "solver.hpp"

namespace shallow_water {

/// Progress of a run: all data to continue as if it had not stopped.
struct Progress {
    int64_t start_hour = 0, hour = 0;  ///< of the start of forecasts; now
    Fields initial;                    ///< at the start of forecasts
    bool has_state = false;            ///< the solver's
    State state;
    bool has_emulated = false;  ///< the emulator's
    Fields emulated;
};

/// Stores a run, the same bytes on any number of ranks. Throws Stop.
/// Collective.
void save(const Solver& solver, const Progress& progress, const std::string& path);

/// Reads what save has stored, on any number of ranks. Throws Stop: no
/// such file, another kind of file, cut short, another resolution or time step. Collective.
Progress restart(const Solver& solver, const std::string& path);

}  // namespace shallow_water
