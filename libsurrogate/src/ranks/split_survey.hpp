// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/ranks/split_order.hpp"

namespace surrogate::impl {

/// Properties of all points, known to all ranks.
struct SplitSurvey {
    int64_t n_point = 0;
    bool is_single =
        false;             ///< coordinates are single-precision numbers, and 32 bits number points
    int64_t first_id = 0;  ///< ids are first_id .. first_id + 2^n_id_bit - 1
    int n_id_bit = 0;
};

/// Gathers count, ids and kind of coordinates of the points of all ranks. Collective. Throws, on
/// all ranks, invalid_argument: coordinates that are not finite, or so large that an extent may
/// overflow; the message names a point and counts them.
SplitSurvey surveyed(Communicator& comm, const kernels::Queue& queue, const SplitPoints& points);

}  // namespace surrogate::impl
