// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

namespace tracking {

/// Writes each event as DIR/event_SEED_HITS.npy, (hits, 14) doubles, by rank 0: layer, radius,
/// azimuth, z, charge, local eta and phi, sizes along, across and through the sensor, global eta
/// and phi, particle (-1: noise), momentum. Collective. Throws Stop on all ranks if a file cannot
/// be written.
void write_samples(MPI_Comm comm, const Settings& settings);

}  // namespace tracking
