// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "surrogate/surrogate.h"

namespace surrogate::impl {

class Domain;

/// Describes an array in the caller's memory by its axes: extents, and strides in elements.
struct ArrayAxes {
    static constexpr size_t max_axis = 4;

    size_t n_axis = 0;
    std::array<int64_t, max_axis> extent{}, stride{};
    const void* data = nullptr;
    int64_t element_bytes = 8;

    void add(int64_t axis_extent, int64_t axis_stride);
    /// Returns "(5, 1) with strides (0, 1)".
    std::string text() const;
};

/// Describes an array whose rows lie one behind the other.
ArrayAxes axes_of(const surrogate_array& array);
/// Describes an array whose rows are the points of `domain`: on the sphere with its steps.
ArrayAxes axes_of(const surrogate_array& array, const Domain& domain);
/// Describes a block, whose n_dim is 1 .. 4.
ArrayAxes axes_of(const surrogate_block& block);

/// Throws limit if the elements have more bytes than int64_t counts, shape if strides lead out of
/// the address space. Extents are not negative; an array without elements passes. `what` begins the
/// message. Local, takes no memory unless it throws.
void require_addressable(const ArrayAxes& axes, const std::string& what);

/// Throws shape unless each element has memory of its own, as an output needs: ordered by size,
/// each stride exceeds the distance that the smaller ones span. Every section of a dense array
/// passes. The axes are addressable.
void require_distinct(const ArrayAxes& axes, const std::string& what);

}  // namespace surrogate::impl
