// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "kernels/sphere/resample.hpp"
#include "kernels/sphere/stencil.hpp"

namespace surrogate::kernels::sphere {

/// The transposed map of a Resampling in gather form: for each input row and column, the outputs to
/// which it contributes. Rows and columns with weight 0 are left out.
struct ResamplingTranspose {
    /// Output row `row`, whose gradient contributes to an extended input row with `weight`.
    struct Part {
        int32_t row = 0;
        double weight = 0;
    };
    int64_t n_lat_in = 0, n_lon_in = 0, n_lon_out = 0;
    bool has_poles = false;
    /// Extended input row h owns parts[row_begin[h]] .. parts[row_begin[h + 1] - 1], with rows
    /// ascending.
    std::vector<int64_t> row_begin;
    std::vector<Part> parts;
    /// Output columns [first[j], first[j + 1]) have input column j to their left, with left_weight
    /// (n_lon_out), and the next one to their right.
    std::vector<int32_t> first;  ///< (n_lon_in + 1)
    std::vector<double> left_weight, right_weight;

    /// Returns the output rows to which input rows [first_row, end_row) contribute, as a hull.
    RowRange out_rows(int64_t first_row, int64_t end_row) const;
    /// Returns the elements of scratch of resample_row_backward().
    int64_t n_scratch() const { return n_lon_out + n_lon_in; }
};

ResamplingTranspose transpose(const Resampling& table);

/// Computes input row `row` of the transposed map: dx(c, j) [+]= sum of weights times dy;
/// contributions to a pole row enter as their mean over the columns.
///   dy(ho) -> Tile<const T> (n_channel, n_lon_out), an output row of out_rows(row, row + 1)
///   scratch  table.n_scratch() elements, of this thread
///   dx       (n_channel, n_lon_in)
/// Rows are in ascending order, then columns in ascending order: results do not depend on the
/// partition of rows. Plain loops: the same code, with bitwise identical results, on every SIMD
/// instruction set. Sums of poles are in double.
template <class T, class Row>
void resample_row_backward(const ResamplingTranspose& table, int64_t row, const Row& dy,
                           bool accumulate, T* scratch, Tile<T> dx);

/// Computes extended row h (channel c) before its columns are joined: mixed(jo) = sum of weight
/// dy(ho)(c, jo).
template <class T, class Row>
void mix_rows_backward(const ResamplingTranspose& table, int64_t extended, const Row& dy, int64_t c,
                       T* mixed) {
    std::fill_n(mixed, table.n_lon_out, T(0));
    for (int64_t p = table.row_begin[static_cast<size_t>(extended)];
         p < table.row_begin[static_cast<size_t>(extended) + 1]; ++p) {
        const ResamplingTranspose::Part& part = table.parts[static_cast<size_t>(p)];
        const Tile<const T> tile = dy(int64_t{part.row});
        const T* from = tile.data + c * tile.stride[0];
        const T weight = static_cast<T>(part.weight);
        for (int64_t j = 0; j < table.n_lon_out; ++j) mixed[j] += weight * from[j];
    }
}

/// Computes joined(j) = sum over output columns of weight mixed(jo).
template <class T>
void join_columns_backward(const ResamplingTranspose& table, const T* mixed, T* joined);

template <class T, class Row>
void resample_row_backward(const ResamplingTranspose& table, int64_t row, const Row& dy,
                           bool accumulate, T* scratch, Tile<T> dx) {
    const int64_t n_in = table.n_lon_in;
    T *const mixed = scratch, *const joined = scratch + table.n_lon_out;
    for (int64_t c = 0; c < dx.shape[0]; ++c) {
        T* to = dx.data + c * dx.stride[0];
        const auto add = [&](int64_t extended, bool is_pole, bool adds) {
            mix_rows_backward<T>(table, extended, dy, c, mixed);
            join_columns_backward<T>(table, mixed, joined);
            if (is_pole) {
                double sum = 0;
                for (int64_t j = 0; j < n_in; ++j) sum += static_cast<double>(joined[j]);
                std::fill_n(joined, n_in, static_cast<T>(sum / static_cast<double>(n_in)));
            }
            for (int64_t j = 0; j < n_in; ++j) to[j] = adds ? to[j] + joined[j] : joined[j];
        };
        const int64_t extended = row + (table.has_poles ? 1 : 0);
        add(extended, false, accumulate);
        if (table.has_poles && row == 0) add(0, true, true);
        if (table.has_poles && row == table.n_lat_in - 1) add(extended + 1, true, true);
    }
}

}  // namespace surrogate::kernels::sphere
