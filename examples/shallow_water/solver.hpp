// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "transform.hpp"

namespace shallow_water {

/// Constants of the planet and of its fluid at rest.
struct Planet {
    static constexpr double radius_m = 6.37122e6;
    static constexpr double rotation_per_s = 7.292e-5;
    static constexpr double gravity = 9.80616;  // m/s^2
    static constexpr double mean_depth_m = 1e4;
    static constexpr double bump_height_m = 120;
};

enum Field { geopotential = 0, vorticity = 1, divergence = 2, n_field = 3 };

/// Coefficients of the three fields, [n_field][orders of this rank][n_degree].
using State = std::vector<Complex>;
/// Values of the three fields, [n_field][rows of this rank][n_lon], in m^2/s^2, 1/s, 1/s.
using Fields = std::vector<double>;

/// Solver of rotating shallow water on the sphere in vorticity-divergence form:
///   d vorticity/dt    = -div((vorticity + f) u)
///   d divergence/dt   =  curl((vorticity + f) u) - Lap(Phi + |u|^2 / 2)
///   d geopotential/dt = -div(Phi u)
/// by spherical harmonics, third order Adams-Bashforth and a fourth power of the Laplacian against
/// the shortest waves. The velocity (u east, v north) enters the vector transform as its two
/// components, so that spheroidal coefficients represent vorticity and toroidal ones divergence.
/// Source: spec of the sphere's models, section 6.
class Solver {
public:
    /// Creates the solver. dt_s > 0. official_rounding: see Transform.
    Solver(const Layout& layout, double dt_s, bool official_rounding);

    const Layout& layout() const { return transform_.layout(); }
    Transform& transform() { return transform_; }
    double dt_s() const { return dt_s_; }

    /// Performs n steps. Every call restarts the history of the time scheme, like the solver of the
    /// training data: its first step is Euler's, its second has weights 7/3 and -4/3. Collective.
    void step(int64_t n, State* state);

    State new_state() const;
    Fields new_fields() const;
    void to_grid(const State& state, Fields* fields);
    void to_state(const Fields& fields, State* state);
    /// Computes the velocity (2, n_row, n_lon), east and north, m/s.
    void velocity(const State& state, double* u);

    /// Computes (curl, div) of a tangential field u (2, n_row, n_lon) as coefficients (2, ..).
    void curl_div(const double* u, Complex* coefficients);
    /// Multiplies coefficients by the Laplacian, or by its inverse (0 for l = 0).
    void multiply_laplacian(Complex* coefficients) const { scale(laplacian_, coefficients); }
    void divide_laplacian(Complex* coefficients) const { scale(inverse_laplacian_, coefficients); }
    /// Returns 2 Omega sin(latitude) of this rank's row.
    double coriolis(int64_t local_row) const {
        return coriolis_[static_cast<std::size_t>(local_row)];
    }

private:
    void scale(const std::vector<double>& by_degree, Complex* coefficients) const;
    void tendency(const State& state, State* rate);
    void fluxes();
    void advance(State* state) const;

    Transform transform_;
    double dt_s_;
    std::vector<double> laplacian_, inverse_laplacian_, diffusion_;  // [n_degree]
    std::vector<double> coriolis_;                                   // [n_row]
    std::array<State, 3> rates_;                                     // newest first
    State coefficients_;        // (5, ..): coefficients of the transforms of the right-hand side
    std::vector<double> grid_;  // (5, n_row, n_lon)
    std::vector<double> flux_;  // (5, n_row, n_lon)
};

}  // namespace shallow_water
