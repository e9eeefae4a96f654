// SPDX-License-Identifier: Apache-2.0
// Replaces data sets if libsurrogate is built without HDF5.
#include "data.hpp"
#include "stop.hpp"

namespace shallow_water {

void make_data(const Settings& settings, Solver&) {
    throw Stop("-data " + settings.data +
               ": data sets are HDF5 files, and libsurrogate is built without HDF5");
}

}  // namespace shallow_water
