// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/grid/grid.hpp"

/// Neighborhoods on the sphere. Rotating the sphere about its axis maps a grid onto itself, so that
/// a row of outputs needs one list for all its columns.
///
/// Phases. If one grid has p times as many longitudes as the other, its rows are split into p phase
/// rows of every p-th column: phase r of row h holds the columns r, r + p, ..; it has number h * p
/// + r. Phase rows of both grids have the same number of columns, n_column = min(n_lon_in,
/// n_lon_out), and output column u is connected to input columns u + offset, with the same offsets
/// for every u.
namespace surrogate::kernels::sphere {

/// A run of columns: for output column u, the columns u + first .. u + first + count - 1 (around
/// the ring) of input phase row `row`. Never longer than the ring.
struct Strip {
    int32_t row = 0;
    int32_t first = 0;
    int32_t count = 0;
};

/// Strips of the output rows [first_row, end_row), for one or several basis functions.
struct Stencil {
    int64_t n_column = 0;  ///< per phase row
    int64_t n_phase_in = 1, n_phase_out = 1;
    int64_t first_row = 0, end_row = 0;
    int64_t n_basis = 1;
    /// List ((row - first_row) * n_phase_out + phase) * n_basis + k owns strips[begin[list]] ..
    /// strips[begin[list + 1] - 1], rows ascending.
    std::vector<int64_t> begin;
    std::vector<Strip> strips;
    /// One weight per column of a strip, in the order of the strips; empty for neighborhoods.
    std::vector<int64_t> value_begin;  ///< as begin, into values
    std::vector<double> values;

    int64_t n_list() const { return (end_row - first_row) * n_phase_out * n_basis; }
    std::span<const Strip> list(int64_t row, int64_t phase, int64_t k = 0) const {
        const auto i = static_cast<size_t>(((row - first_row) * n_phase_out + phase) * n_basis + k);
        return {strips.data() + begin[i], static_cast<size_t>(begin[i + 1] - begin[i])};
    }
    /// Returns the index in `values` of the first weight of a list.
    int64_t value_of(int64_t row, int64_t phase, int64_t k) const {
        return value_begin[static_cast<size_t>(((row - first_row) * n_phase_out + phase) * n_basis +
                                               k)];
    }
    /// Returns the number of pairs (input point, output point) of one output column of all phases
    /// of a row, not counting basis functions. The cost of a row is n_column times this number.
    int64_t pairs(int64_t row) const;
    int64_t bytes() const;
};

/// Input rows (not phase rows) that an output row may touch: [begin, end).
struct RowRange {
    int64_t begin = 0, end = 0;
};

/// Returns the input rows with a node within 1.001 * theta_cutoff of a node in out rows [first_row,
/// end_row); empty for no rows.
RowRange rows_within(const Latitudes& out, const Latitudes& in, double theta_cutoff,
                     int64_t first_row, int64_t end_row);

/// Builds the neighborhoods D(i) = { j : dist(i, j) <= 1.001 * theta_cutoff } of attention: within
/// a grid, to a coarser and to a finer grid.
/// Throws shape if neither n_lon divides the other (the text names sizes that would work),
/// invalid_argument if an output has no neighbor (the text names the row and the smallest cutoff
/// that would give it one). Source: spec of the sphere, section 4; distances are evaluated as
/// there, so that ties are decided alike.
Stencil neighborhood(const Grid& out, const Grid& in, double theta_cutoff, int64_t first_row,
                     int64_t end_row);

/// Returns the transposed stencil: for rows [first_row, end_row) of its input, the columns of its
/// output that reach them, with their weights. Output and input are exchanged, also in the numbers
/// of phases; strips ascend in output phase rows. Only rows of `stencil` take part: for complete
/// lists it must contain all rows that reach [first_row, end_row). A list may be empty.
Stencil transpose(const Stencil& stencil, int64_t first_row, int64_t end_row);

/// Returns the outputs whose neighborhoods contain the points of rows [first_row, end_row) of `in`:
/// transpose() of neighborhood(out, in, theta_cutoff, ..) over all output rows that reach them. The
/// lists are the same for any choice of rows. Throws as neighborhood() does.
Stencil transposed_neighborhood(const Grid& out, const Grid& in, double theta_cutoff,
                                int64_t first_row, int64_t end_row);

enum class Basis { piecewise_linear, morlet, zernike, harmonic, fourier_bessel };
enum class BasisNorm { nodal, mean, support, geometric, modal, none };

/// The filter of a discrete-continuous convolution.
struct Filter {
    Basis basis = Basis::piecewise_linear;
    std::array<int64_t, 2>
        shape{};  ///< (nr, nphi), (s0, s1), (nmax, mmax); second ignored where unused
    BasisNorm norm = BasisNorm::nodal;
    /// Releases before 0.9.1 add 1e-9 to the mean instead of bounding it by 1e-9.
    bool adds_epsilon = false;
    double theta_cutoff = 0;

    int64_t n_basis() const;
};

/// Builds Psi[k, ho, hi, wi] of the convolution (coarser or equal output grid, n_lon_in % n_lon_out
/// == 0) or of the transposed convolution (finer or equal output grid), normalized and multiplied
/// by the quadrature weight. Zeros at the edge of the support may be stored.
/// Source: spec of the sphere, section 6.
Stencil convolution(const Grid& out, const Grid& in, const Filter& filter, int64_t first_row,
                    int64_t end_row);
Stencil transposed_convolution(const Grid& out, const Grid& in, const Filter& filter,
                               int64_t first_row, int64_t end_row);

}  // namespace surrogate::kernels::sphere
