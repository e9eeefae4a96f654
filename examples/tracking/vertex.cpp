// SPDX-License-Identifier: Apache-2.0
#include "vertex.hpp"

#include <cmath>

namespace tracking {

namespace {

/// Returns where the direction of a cluster meets the beam (mm).
double origin_of(const Hit& hit) {
    return hit.z - hit.radius * std::sinh(hit.global_eta);
}

/// Returns the inverse variance of origin_of(), about 1 in the innermost layer and 0 far away: an
/// error of the polar angle counts radius / sin^2 times.
double weight_of(const Hit& hit) {
    const double sine = 1 / std::cosh(hit.global_eta), lever = 32 / hit.radius * sine * sine;
    return lever * lever;
}

}  // namespace

void set_vertices(MPI_Comm comm, int64_t n_event, std::vector<Hit>* hits) {
    constexpr double unit = 1 << 20;  // of weights as integers
    for (Hit& hit : *hits) hit.vertex = 0;
    for (const double window_mm : {300.0, 60.0, 30.0}) {
        std::vector<int64_t> sums(std::size_t(2 * n_event), 0);  // weight, weight times origin
        for (const Hit& hit : *hits) {
            const double origin = origin_of(hit), weight = unit * weight_of(hit);
            if (std::abs(origin - hit.vertex) > window_mm) continue;
            sums[std::size_t(2 * hit.event)] += std::llround(weight);
            sums[std::size_t(2 * hit.event + 1)] += std::llround(weight * origin);
        }
        MPI_Allreduce(MPI_IN_PLACE, sums.data(), int(sums.size()), MPI_INT64_T, MPI_SUM, comm);
        for (Hit& hit : *hits) {
            const auto event = std::size_t(2 * hit.event);
            if (sums[event] > 0) hit.vertex = double(sums[event + 1]) / double(sums[event]);
        }
    }
}

}  // namespace tracking
