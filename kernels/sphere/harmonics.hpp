// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/grid/grid.hpp"
#include "kernels/sphere/harmonics_fourier.hpp"

/// Real spherical harmonic transforms in double, orthonormal, in two steps between which ranks
/// exchange data: Fourier along rows (local to a row), Legendre along columns (local to an order
/// m).
/// Source: spec of the sphere, section 2. equiangular-trapezoidal grids have no transform.
namespace surrogate::kernels::sphere {

/// Degrees and orders 0 .. n_degree - 1.
struct Truncation {
    int64_t n_degree = 0;
};

/// Returns the official default for a grid: min(lmax(kind, n_lat), n_lon / 2 + 1). Throws
/// invalid_argument for grids without a transform.
Truncation default_truncation(const Grid& grid);

/// Computes normalized Legendre functions P[m][l](theta), no phase, at one colatitude: (n_degree,
/// n_degree) row-major [m][l], zero for m > l.
void legendre_functions(double theta, int64_t n_degree, double* p);

/// Tables of one transform. Immutable.
class Harmonics {
public:
    /// Computes the tables: n_degree^2 / 2 numbers per row. csphase: odd orders change sign. A rank
    /// that applies the inverse to some rows only needs the tables of [first_row, end_row).
    Harmonics(const Grid& grid, Truncation truncation, bool csphase);
    Harmonics(const Grid& grid, Truncation truncation, bool csphase, int64_t first_row,
              int64_t end_row);

    const Grid& grid() const { return grid_; }
    int64_t n_degree() const { return n_degree_; }

    using Complex = std::complex<double>;

    // Functions on whole fields on one rank, for tables of all rows, row-major: f (n_lat, n_lon); c
    // (n_degree, n_degree) [l][m].
    void forward(const double* f, Complex* c) const;
    void inverse(const Complex* c, double* f) const;
    /// Computes c (2, n_degree, n_degree), spheroidal and toroidal, from v (2, n_lat, n_lon), along
    /// theta and along lambda.
    void vector_forward(const double* v, Complex* c) const;
    void vector_inverse(const Complex* c, double* v) const;

    /// Computes only rows [first_row, end_row) of the inverse, which must have tables: f (end_row -
    /// first_row, n_lon).
    void inverse_rows(const Complex* c, int64_t first_row, int64_t end_row, double* f) const;

    // Gradients of a scalar L, from results to inputs; the gradient of a coefficient is dL/dRe + i
    // dL/dIm.

    /// Computes the contribution of row `row` of df, for f = inverse(c), to dc: (n_degree,
    /// n_degree) [l][m], overwritten.
    void inverse_gradient(const double* df, int64_t row, Complex* dc) const;
    /// Returns a factor: no number of inverse_gradient() is larger than it times the sum of |df| in
    /// the row.
    double inverse_gradient_bound() const;
    /// Computes rows [first_row, end_row) of df from dc, for c = forward(f): (end_row - first_row,
    /// n_lon).
    void forward_gradient(const Complex* dc, int64_t first_row, int64_t end_row, double* df) const;

private:
    /// Computes rows from coefficients, of which order m is multiplied by factor(row, m).
    template <class Factor>
    void to_rows(const Complex* c, int64_t first_row, int64_t end_row, const Factor& factor,
                 double* f) const;
    /// Returns the multiplicity of an order in a row.
    double times(int64_t order) const { return order == 0 || 2 * order == grid_.n_lon ? 1 : 2; }
    const double* triangle(int64_t row) const;
    double sign(int64_t order) const { return order % 2 == 1 ? odd_sign_ : 1; }

    Grid grid_;
    int64_t n_degree_ = 0, first_row_ = 0;
    Latitudes latitudes_;
    double odd_sign_ = 1;  ///< of odd orders
    FourierRow fourier_;
    std::vector<double> p_;  ///< (row, triangle of n_degree + 1): derivatives need one degree more
};

/// Computes the spectral position embedding E(channel, row, :) for channels 0 .. n_channel - 1 on
/// rows [first_row, end_row): (end_row - first_row, n_channel, n_lon) row-major. Each channel is
/// divided by its maximum over the whole grid. Throws invalid_argument if n_channel exceeds
/// n_degree^2 of the default truncation.
/// Source: spec of the sphere's models, section 1.
std::vector<float> spectral_embedding(const Grid& grid, int64_t n_channel, int64_t first_row,
                                      int64_t end_row);
/// Computes sin (even channel) or cos (odd) of p / 10000^(2 channel / n_channel), p = flat
/// position.
std::vector<float> sequence_embedding(const Grid& grid, int64_t n_channel, int64_t first_row,
                                      int64_t end_row);

}  // namespace surrogate::kernels::sphere
