// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <vector>

#include "event.hpp"

namespace tracking {

/// Sets Hit::vertex of all hits, of events 0 .. n_event - 1: the position of the collision along
/// the beam, the mean of where the directions of the clusters meet the beam, without outliers. With
/// several collisions it is near their middle. Sums are integers, so that it is bitwise identical
/// on any number of ranks. Collective.
void set_vertices(MPI_Comm comm, int64_t n_event, std::vector<Hit>* hits);

}  // namespace tracking
