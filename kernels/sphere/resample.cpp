// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/resample.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels::sphere {
namespace {

using std::numbers::pi;

/// Returns the nodes as the official code uses them here: rows at the poles are exactly at the
/// poles.
std::vector<double> nodes(const Grid& grid) {
    std::vector<double> theta = latitudes(grid.kind, grid.n_lat).theta;
    if (grid.kind != GridKind::legendre_gauss) {
        theta.front() = 0;
        theta.back() = pi;
    }
    return theta;
}

void fill_latitudes(Resampling& table) {
    std::vector<double> in = nodes(table.in);
    const std::vector<double> out = nodes(table.out);
    table.has_poles = out.front() < in.front() || out.back() > in.back();
    if (table.has_poles) {
        in.insert(in.begin(), 0);
        in.push_back(pi);
    }
    for (double theta : out) {
        auto next = std::upper_bound(in.begin(), in.end(), theta) - in.begin();
        next = std::min<std::ptrdiff_t>(next, static_cast<std::ptrdiff_t>(in.size()) - 1);
        const double from = in[static_cast<size_t>(next - 1)], to = in[static_cast<size_t>(next)];
        table.above.push_back(static_cast<int32_t>(next - 1));
        table.lat_t.push_back((theta - from) / (to - from));
        table.lat_w.push_back(to - from);
    }
}

/// Fills the columns. They are equally spaced on both grids, which is exact in integers.
void fill_longitudes(Resampling& table) {
    const int64_t n_in = table.in.n_lon, n_out = table.out.n_lon;
    table.lon_w = 2 * pi / static_cast<double>(n_in);
    for (int64_t j = 0; j < round_up(n_out, lane_count); ++j) {
        const int64_t position = j % n_out * n_in;
        table.left.push_back(static_cast<int32_t>(position / n_out));
        table.lon_t.push_back(static_cast<double>(position % n_out) / static_cast<double>(n_out));
        table.lon_t_single.push_back(static_cast<float>(table.lon_t.back()));
        if (table.interpolation == Interpolation::bilinear) continue;
        const PairWeights weights = spherical_weights(table.lon_t.back(), table.lon_w);
        table.lon_a_single.push_back(static_cast<float>(weights.a));
        table.lon_b_single.push_back(static_cast<float>(weights.b));
    }
}

}  // namespace

PairWeights spherical_weights(double t, double w) {
    const double sine = std::sin(w);
    if (!(sine > 1e-4)) return {1 - t, t};
    return {std::sin((1 - t) * w) / sine, std::sin(t * w) / sine};
}

Resampling resampling(const Grid& out, const Grid& in, Interpolation interpolation) {
    for (const Grid& grid : {out, in}) {
        if (grid.n_lon < 1)
            throw Error(Status::invalid_argument,
                        "a grid needs at least 1 longitude, got " + std::to_string(grid.n_lon));
    }
    Resampling table;
    table.out = out;
    table.in = in;
    table.interpolation = interpolation;
    table.is_identity = out == in;
    fill_latitudes(table);
    fill_longitudes(table);
    return table;
}

template <class T>
void resample_row(const Queue& queue, const Resampling& table, int64_t row, Tile<const T> upper,
                  Tile<const T> lower, Tile<T> scratch, bool accumulate, Tile<T> y) {
    if (!uses_simd<T>(queue, "resample_row"))
        return ref::resample_row(table, row, upper, lower, scratch, accumulate, y);
    if constexpr (std::is_same_v<T, float>)
        simd::resample_row(queue.level(), table, row, upper, lower, scratch, accumulate, y);
}

template <class T>
void pole_row(Tile<const T> x, Tile<T> y) {
    const int64_t n = x.shape[1];
    for (int64_t c = 0; c < x.shape[0]; ++c) {
        double sum = 0;
        for (int64_t j = 0; j < n; ++j) sum += static_cast<double>(x(c, j));
        std::fill_n(y.data + c * y.stride[0], n, static_cast<T>(sum / static_cast<double>(n)));
    }
}

template void resample_row(const Queue&, const Resampling&, int64_t, Tile<const float>,
                           Tile<const float>, Tile<float>, bool, Tile<float>);
template void resample_row(const Queue&, const Resampling&, int64_t, Tile<const double>,
                           Tile<const double>, Tile<double>, bool, Tile<double>);
template void pole_row(Tile<const float>, Tile<float>);
template void pole_row(Tile<const double>, Tile<double>);

}  // namespace surrogate::kernels::sphere
