// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

namespace tracking {

/// Writes the events as a data set for `surrogate train`: one sample per event, with rows of hits.
/// Variables are the inputs of the model, and `particle` (-100: noise), `pt` (GeV) and `weight` (1
/// for hits of particles that count, else 0). The file has the same bytes on any number of ranks.
/// Prints a line on rank 0. Collective. Throws Stop on all ranks if the file cannot be written, or
/// if libsurrogate is built without HDF5.
void write_samples(MPI_Comm comm, const Settings& settings);

}  // namespace tracking
