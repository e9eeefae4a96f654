// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pileup/settings.hpp"

namespace pileup {

/// Writes the events as a data set for `surrogate train`: one sample per event. Variables are the
/// inputs of the model, and `label` (1: a scored particle of the primary collision, 0: of pile-up,
/// -100: not scored). The file has the same bytes on any number of ranks. Prints a line on rank 0.
/// Collective. Throws tracking::Stop on all ranks if the file cannot be written, or if libsurrogate
/// is built without HDF5.
void write_samples(MPI_Comm comm, const Settings& settings);

}  // namespace pileup
