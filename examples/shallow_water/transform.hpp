// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "fourier.hpp"
#include "layout.hpp"
#include "legendre.hpp"

namespace shallow_water {

/// Fields that are transformed together, so that their messages are joined: first the scalars, then
/// the tangential fields, which are pairs: the two components on the grid, spheroidal and toroidal
/// coefficients.
struct Batch {
    int64_t n_scalar = 0, n_vector = 0;
    int64_t n_field() const { return n_scalar + 2 * n_vector; }
};

/// Spherical harmonic transforms of fields that are distributed in bands of rows on the grid, and
/// by orders m in coefficients. Fourier sums need whole rows, Legendre sums whole columns: between
/// them every transform has one all-to-all. Each sum is computed by one rank in one order, so
/// results are bitwise identical on any number of ranks.
///   grid          [n_field][n_row][n_lon] of this rank's rows
///   coefficients  [n_field][orders of this rank][n_degree], zero in degrees l < m
/// Source: spec of the sphere, section 2 (orthonormal, without phase). Transforms are collective.
class Transform {
public:
    /// Creates the tables. official_rounding: 1 / (l (l + 1)) of the forward vector transform is
    /// rounded to float, as in torch-harmonics, which does so even in double.
    Transform(const Layout& layout, bool official_rounding);

    const Layout& layout() const { return layout_; }
    const Latitudes& latitudes() const { return latitudes_; }
    /// Returns the number of coefficients of one field on this rank.
    int64_t n_coefficient() const;

    void to_coefficients(Batch batch, const double* grid, Complex* coefficients);
    void to_grid(Batch batch, const Complex* coefficients, double* grid);

private:
    void size_buffers(int64_t n_field);
    void exchange(const std::vector<double>& send, const std::vector<int>& n_send,
                  std::vector<double>* receive, const std::vector<int>& n_receive) const;
    Complex* piece_of_rows(int rank, int64_t order, int64_t field, int64_t n_field);
    Complex* piece_of_orders(int rank, int64_t order, int64_t field, int64_t n_field);
    void load_columns(std::size_t order, Batch batch);
    void store_columns(std::size_t order, Batch batch);
    double* column(int64_t field, int part);
    void analyse_column(std::size_t order, Batch batch, Complex* coefficients);
    void synthesise_column(std::size_t order, Batch batch, const Complex* coefficients);

    Layout layout_;
    Latitudes latitudes_;
    std::vector<OrderTable> tables_;     // for this rank's orders
    std::vector<double> vector_factor_;  // [n_degree] 1 / (l (l + 1)), 1 at l = 0
    Fourier fourier_;
    // Messages to and from each rank. rows_: my rows, that rank's orders; orders_: my orders, that
    // rank's rows. Both [rank][order][field][row of the band], complex.
    std::vector<double> rows_, orders_;
    std::vector<int> n_rows_, n_orders_;  // doubles by rank
    std::vector<std::size_t> at_rows_, at_orders_;
    std::vector<double> columns_;  // [field][real, imaginary][n_lat] of one order
};

}  // namespace shallow_water
