// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace shallow_water {

/// Rows of a legendre-gauss grid, north to south.
struct Latitudes {
    std::vector<double> sine;    ///< of the latitude: roots of the Legendre polynomial, descending
    std::vector<double> cosine;  ///< of the latitude
    std::vector<double> weight;  ///< of quadrature in the sine; sum 2

    explicit Latitudes(int64_t n_lat);
    double latitude(int64_t row) const;  ///< radians north
};

/// Normalized Legendre functions of one order m at all latitudes and their derivatives for the
/// transforms of tangential fields: each (n_degree, n_lat), zero in degrees l < m. Source: spec of
/// the sphere, section 2.
struct OrderTable {
    std::vector<double> p;   ///< P[m,l], orthonormal, without phase
    std::vector<double> d0;  ///< dP/dtheta, theta the colatitude
    std::vector<double> d1;  ///< m P / sin(theta)
};

/// Returns the tables of the given orders.
std::vector<OrderTable> order_tables(const Latitudes& latitudes, int64_t n_degree,
                                     const std::vector<int64_t>& orders);

}  // namespace shallow_water
