// SPDX-License-Identifier: Apache-2.0
// Replaces data sets if libsurrogate is built without HDF5.
#include "pileup/samples.hpp"
#include "stop.hpp"

namespace pileup {

void write_samples(MPI_Comm, const Settings& settings) {
    throw tracking::Stop("-samples " + settings.samples +
                         ": data sets are HDF5 files, and libsurrogate is built without HDF5");
}

}  // namespace pileup
