// SPDX-License-Identifier: Apache-2.0
// Replaces data sets if libsurrogate is built without HDF5.
#include "samples.hpp"
#include "stop.hpp"

namespace tracking {

void write_samples(MPI_Comm, const Settings& settings) {
    throw Stop("-samples " + settings.samples +
               ": data sets are HDF5 files, and libsurrogate is built without HDF5");
}

}  // namespace tracking
