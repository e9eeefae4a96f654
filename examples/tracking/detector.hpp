// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace tracking {

using Position = std::array<double, 3>;  ///< x, y, z in mm; z along the beam

/// The path of a charged particle in a field along z: a helix.
struct Helix {
    Position origin{};
    double azimuth = 0;    ///< of its direction at the origin, rad
    double slope = 0;      ///< rise in z over length in the plane: sinh of the pseudorapidity
    double curvature = 0;  ///< 1/mm in the plane; positive turns to the left

    /// Returns the position after a length in the plane across the beam (mm).
    Position at(double length) const;
    /// Returns the azimuth of its direction there.
    double azimuth_at(double length) const { return azimuth + curvature * length; }
};

constexpr double field_tesla = 2;
/// Returns the curvature (1/mm) of a transverse momentum (GeV) and a charge of +1 or -1: 0.3 B
/// / p, in meters; positive charges turn to the right in a field along +z.
double curvature_of(double momentum, int charge);
/// Returns the momentum of a curvature of either sign.
double momentum_of(double curvature);

/// A thin layer of sensors: a cylinder around the beam, or a disc across it.
struct Layer {
    bool is_barrel;
    double at;         ///< mm: radius of a cylinder, z of a disc
    double low, high;  ///< mm: range in z of a cylinder, in radius of a disc

    double area() const;
    /// Returns the length along a helix, in the plane, to its first crossing. Empty if it does not
    /// reach the layer within the first half of its turn (a cylinder: nine tenths of it), or misses
    /// the sensors.
    std::optional<double> crossing(const Helix& helix) const;
};

/// End-cap discs at negative z, cylinders, end-cap discs at positive z: 18 layers that cover a
/// particle's pseudorapidity up to 2.5.
constexpr std::size_t n_layer = 18;
extern const std::array<Layer, n_layer> layers;

}  // namespace tracking
