// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention/attention.hpp"

namespace surrogate::impl::bsa {

/// Slots of a ball in up to tile_points columns: queries, keys and values, relative positions.
template <class T>
struct BallSlots {
    kernels::AttendGradient<T> of;
    kernels::Tile<const T> k, v, position;
};

/// Adds to dposition (d, n) of the slots `own` the gradients of their distances to the slots
/// `other`, as queries and as keys. factor (H) multiplies distances in the scores. Equal positions
/// contribute 0. Results are bitwise identical on every SIMD instruction set.
template <class T>
void add_distance_gradient(const kernels::Heads& heads, const T* factor, const BallSlots<T>& own,
                           const BallSlots<T>& other, kernels::Tile<T> dposition);

}  // namespace surrogate::impl::bsa
