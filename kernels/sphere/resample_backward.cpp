// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/resample_backward.hpp"

namespace surrogate::kernels::sphere {
namespace {

/// Returns the weights of the two neighbors of a parameter t, at angle w.
PairWeights pair_weights(Interpolation interpolation, double t, double w) {
    if (interpolation == Interpolation::bilinear) return {1 - t, t};
    return spherical_weights(t, w);
}

/// Calls body(extended input row, part) for all output rows, ascending.
template <class Body>
void for_parts(const Resampling& table, const Body& body) {
    for (int64_t ho = 0; ho < table.out.n_lat; ++ho) {
        const auto h = static_cast<size_t>(ho);
        const PairWeights w = pair_weights(table.interpolation, table.lat_t[h], table.lat_w[h]);
        const auto above = static_cast<size_t>(table.above[h]);
        if (w.a != 0) body(above, ResamplingTranspose::Part{static_cast<int32_t>(ho), w.a});
        if (w.b != 0) body(above + 1, ResamplingTranspose::Part{static_cast<int32_t>(ho), w.b});
    }
}

void fill_rows(const Resampling& table, ResamplingTranspose& turned) {
    const auto n_row = static_cast<size_t>(table.in.n_lat + (table.has_poles ? 2 : 0));
    turned.row_begin.assign(n_row + 1, 0);
    for_parts(table, [&](size_t row, const auto&) { ++turned.row_begin[row + 1]; });
    for (size_t row = 0; row < n_row; ++row) turned.row_begin[row + 1] += turned.row_begin[row];
    turned.parts.resize(static_cast<size_t>(turned.row_begin.back()));
    std::vector<int64_t> next = turned.row_begin;
    for_parts(table, [&](size_t row, const auto& part) {
        turned.parts[static_cast<size_t>(next[row]++)] = part;
    });
}

void fill_columns(const Resampling& table, ResamplingTranspose& turned) {
    turned.first.assign(static_cast<size_t>(table.in.n_lon + 1), 0);
    for (int64_t jo = 0; jo < table.out.n_lon; ++jo) {
        const auto j = static_cast<size_t>(jo);
        const PairWeights w = pair_weights(table.interpolation, table.lon_t[j], table.lon_w);
        turned.left_weight.push_back(w.a);
        turned.right_weight.push_back(w.b);
        ++turned.first[static_cast<size_t>(table.left[j]) + 1];
    }
    for (size_t j = 1; j < turned.first.size(); ++j) turned.first[j] += turned.first[j - 1];
}

}  // namespace

ResamplingTranspose transpose(const Resampling& table) {
    ResamplingTranspose turned;
    turned.n_lat_in = table.in.n_lat;
    turned.n_lon_in = table.in.n_lon;
    turned.n_lon_out = table.out.n_lon;
    turned.has_poles = table.has_poles;
    fill_rows(table, turned);
    fill_columns(table, turned);
    return turned;
}

RowRange ResamplingTranspose::out_rows(int64_t first_row, int64_t end_row) const {
    if (first_row >= end_row) return {};
    int64_t begin = first_row, end = end_row;  // extended rows
    if (has_poles) {
        begin += first_row == 0 ? 0 : 1;
        end += end_row == n_lat_in ? 2 : 1;
    }
    RowRange rows;
    for (int64_t p = row_begin[static_cast<size_t>(begin)]; p < row_begin[static_cast<size_t>(end)];
         ++p) {
        const int64_t row = parts[static_cast<size_t>(p)].row;
        if (rows.begin == rows.end) rows = {row, row};
        rows = {std::min(rows.begin, row), std::max(rows.end, row + 1)};
    }
    return rows;
}

template <class T>
void join_columns_backward(const ResamplingTranspose& table, const T* mixed, T* joined) {
    const auto n_in = static_cast<size_t>(table.n_lon_in);
    for (size_t j = 0; j < n_in; ++j) {
        const size_t before = j == 0 ? n_in - 1 : j - 1;
        T right = 0, left = 0;
        for (auto o = static_cast<size_t>(table.first[before]);
             o < static_cast<size_t>(table.first[before + 1]); ++o)
            right += static_cast<T>(table.right_weight[o]) * mixed[o];
        for (auto o = static_cast<size_t>(table.first[j]);
             o < static_cast<size_t>(table.first[j + 1]); ++o)
            left += static_cast<T>(table.left_weight[o]) * mixed[o];
        joined[j] = right + left;
    }
}

template void join_columns_backward(const ResamplingTranspose&, const float*, float*);
template void join_columns_backward(const ResamplingTranspose&, const double*, double*);

}  // namespace surrogate::kernels::sphere
