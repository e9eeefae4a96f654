// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "settings.hpp"
#include "solver.hpp"

namespace shallow_water {

/// Sets a jet in the northern hemisphere, balanced, with a small bump that makes it unstable.
/// Source: Galewsky, Scott and Polvani 2004, in the form of the spec of the sphere's models,
/// section 6. Collective.
void galewsky_jet(Solver& solver, State* state);

/// Sets flat random spectra of the three fields around a fluid at rest, velocities of a few m/s. A
/// function of the seed alone, on any number of ranks. Source: as above, mach number 0.2. Local.
void random_waves(const Solver& solver, uint64_t seed, State* state);

/// Sets an initial state as in the training data of the model: the jet plus a fraction 0 .. 0.2 of
/// random waves (without their mean depth). The seed selects waves, fraction and, for one half of
/// the seeds, the southern hemisphere. Collective.
void perturbed_jet(Solver& solver, uint64_t seed, State* state);

/// Reads fields from a file of doubles, [n_field][n_lat][n_lon], rows north to south. Throws Stop
/// if it does not exist, its size differs or a number is not finite. Collective.
void read_initial(Solver& solver, const std::string& path, State* state);

/// Sets the initial state that the settings name. Throws Stop. Collective.
void set_initial(const Settings& settings, Solver& solver, State* state);

}  // namespace shallow_water
