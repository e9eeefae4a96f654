// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "settings.hpp"
#include "solver.hpp"

namespace shallow_water {

/// A jet in the northern hemisphere, balanced, with a small bump that makes it unstable.
/// Source: Galewsky, Scott and Polvani 2004, in the form of the spec of the sphere's models,
/// section 6. Collective.
void galewsky_jet(Solver& solver, State* state);

/// Flat random spectra of the three fields around a fluid at rest, velocities of a few m/s. A
/// function of the seed alone, on any number of ranks. Source: as above, mach number 0.2. Local.
void random_waves(const Solver& solver, uint64_t seed, State* state);

/// As the training data of the model begin: the jet plus a share of 0 .. 0.2 of random waves
/// (without their mean depth); the seed chooses waves, share and, for one half of the seeds, the
/// southern hemisphere. Collective.
void perturbed_jet(Solver& solver, uint64_t seed, State* state);

/// Fields of a file of doubles, [n_field][n_lat][n_lon], rows north to south. Throws
/// Stop if it is not there, its size is another one or a number is not finite.
/// Collective.
void read_initial(Solver& solver, const std::string& path, State* state);

/// The initial state that the settings name. Throws Stop. Collective.
void set_initial(const Settings& settings, Solver& solver, State* state);

}  // namespace shallow_water
