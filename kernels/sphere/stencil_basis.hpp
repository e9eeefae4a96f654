// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/sphere/stencil.hpp"

namespace surrogate::kernels::sphere {

/// The functions of a filter on a disk, before normalization.
class FilterBasis {
public:
    virtual ~FilterBasis() = default;

    virtual int64_t size() const = 0;
    /// Evaluates all functions at distance r <= radius in direction phi in [0, 2 pi): their values,
    /// and for each function whether the point belongs to its support; both arrays have size()
    /// elements. A value outside the support is 0.
    virtual void evaluate(double r, double phi, double* value, uint8_t* is_inside) const = 0;
    /// Returns true if the function depends on r alone.
    virtual bool is_isotropic(int64_t k) const = 0;
};

/// Creates the basis of a filter. Throws invalid_argument for a shape that the basis does not have.
/// Source: spec of the sphere, section 6.
std::unique_ptr<FilterBasis> make_basis(const Filter& filter, double radius);

}  // namespace surrogate::kernels::sphere
